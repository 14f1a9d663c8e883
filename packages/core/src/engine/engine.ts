import { chmod, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { findAgent } from '../agents/index.ts';
import { helperSocket, stateDir as stateDirOf } from '../api/paths.ts';
import { serveEngine } from '../api/server.ts';
import { DROVER_VERSION } from '../api/version.ts';
import type { AttemptServices } from '../attempts/context.ts';
import { BasicProvider } from '../sandbox/basic-provider.ts';
import { EnhancedProvider } from '../sandbox/enhanced-provider.ts';
import { Sampler } from '../sandbox/sampler.ts';
import { removeStrays } from '../sandbox/strays.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import { DroverError } from '../shared/errors.ts';
import { type Attempt, Store } from '../store/index.ts';
import type { Level } from '../tasks/definition.ts';
import { cleanQuarantines, openRepository, type Repository } from '../worktrees/index.ts';
import { AccountKeeper } from './accounts.ts';
import { ensureHelper } from './ensure-helper.ts';
import { EventLog } from './events.ts';
import { Fleet } from './fleet.ts';
import { type ProviderFactory, Providers } from './providers.ts';
import { EngineService } from './service.ts';
import { EngineSettings } from './settings.ts';
import { Submissions } from './submit.ts';

const SAMPLE_MS = 1_000;

export interface EngineOptions {
  env: Readonly<Record<string, string | undefined>>;
  log: Logger;
  clock?: Clock;
}

export interface RunningEngine {
  /** Lets go of everything, without touching an agent, and closes. */
  stop(): void;
  /** Resolves when it has closed. */
  stopped: Promise<void>;
}

/**
 * Puts the engine together and starts it: database first (its lock keeps a second engine out), then what an earlier engine
 * left is taken up, then the socket is served.
 */
export async function startEngine(options: EngineOptions): Promise<RunningEngine> {
  const { env, log } = options;
  const clock = options.clock ?? systemClock;
  const stateDir = stateDirOf(env);
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  // A directory that existed before may be open to others; prompts and logs are nobody else's business.
  await chmod(stateDir, 0o700);
  const store = new Store(join(stateDir, 'drover.db'));
  const userHome = env.HOME ?? homedir();
  const settings = new EngineSettings(env);
  await settings.reload().catch((error) => log.warn({ error: String(error) }, 'the configuration cannot be read'));
  const events = new EventLog(store, clock);
  const providers = new Providers(factories(env, stateDir, store, log));
  const repositoryOf = repositories(store);
  const onError = (error: unknown) => log.warn({ error: String(error) }, 'sampling failed');
  const sampler = new Sampler(
    () => providers.made,
    SAMPLE_MS,
    () => clock.monotonic(),
    onError,
  );
  const services: AttemptServices = {
    store,
    clock,
    sampler,
    stateDir,
    userHome,
    providerOf: (level) => providers.get(level),
    levelAvailable: (level, signal) => providers.available(level, signal),
    adapterOf: findAgent,
    repositoryOf,
    emit: (kind, attempt, text) =>
      void events.emit(kind, { ref: attempt.ref, plan: attempt.plan.name }, text, { attempt: attempt.number }),
    log: (level, message, data) => log[level](data ?? {}, message),
  };
  const fleet = new Fleet({ services, events, settings });
  const accounts = new AccountKeeper({
    uses: () => fleet.accountUses(),
    stateDir,
    userHome,
    onProblem: (agent, problem) => void events.emit('warning', {}, `${agent}: ${problem}`),
  });
  accounts.start();
  // Open attempts need the levels they were started with, before anybody asks for them.
  await providers.prepare(new Set(store.openAttempts().map((attempt) => attempt.level)));
  fleet.adopt();
  void cleanRepositories(store, repositoryOf, log);

  let stop: () => void = () => undefined;
  const stopping = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const service = new EngineService({
    version: DROVER_VERSION,
    stateDir,
    startedMs: clock.now(),
    clock,
    store,
    fleet,
    events,
    sampler,
    providers,
    submissions: new Submissions({ store, clock, events, fleet, providers, settings, userHome }),
    repositoryOf,
    exitSoon: () => setTimeout(stop, 50),
  });
  const server = await serveEngine({
    socketPath: join(stateDir, 'engine.sock'),
    service,
    onError: (error, call) => {
      // A refusal is the caller's business, and no fault of the engine.
      if (error instanceof DroverError) return;
      log.error({ call, error: error instanceof Error ? error.stack : String(error) }, 'a call failed');
    },
  });
  log.info({ pid: process.pid, version: DROVER_VERSION, stateDir }, 'engine started');

  const stopped = stopping.then(async () => {
    events.close();
    await server.close();
    await fleet.close();
    sampler.stop();
    await accounts.stop();
    await providers.close();
    store.close();
    log.info({ pid: process.pid }, 'engine stopped');
  });
  return { stop, stopped };
}

function factories(
  env: EngineOptions['env'],
  stateDir: string,
  store: Store,
  log: Logger,
): Map<Level, ProviderFactory> {
  const attempts = join(stateDir, 'attempts');
  return new Map<Level, ProviderFactory>([
    ['basic', async () => new BasicProvider(attempts)],
    [
      'enhanced',
      async () => {
        const socket = helperSocket(env);
        await ensureHelper(socket);
        const provider = await EnhancedProvider.connect(socket, attempts);
        // Before anything of this engine's own is in it.
        await removeStrays(provider, (id) => refInUse(store.attempt(id))).catch((error) =>
          log.warn({ error: String(error) }, 'sandboxes of earlier engines could not be removed'),
        );
        return provider;
      },
    ],
  ]);
}

function refInUse(attempt: Attempt | undefined): string | null | undefined {
  if (!attempt) return undefined;
  return attempt.state === 'ended' ? null : attempt.sandbox_ref;
}

/** Half-received packs of an engine that died. A repository that is gone has none. */
async function cleanRepositories(
  store: Store,
  repositoryOf: (key: string) => Promise<Repository>,
  log: Logger,
): Promise<void> {
  for (const { key } of store.repositories()) {
    try {
      await cleanQuarantines(await repositoryOf(key));
    } catch (error) {
      log.info({ repository: key, error: String(error) }, 'a repository was not cleaned');
    }
  }
}

/** Repositories by key, opened once. */
function repositories(store: Store): (key: string) => Promise<Repository> {
  const opened = new Map<string, Promise<Repository>>();
  return (key) => {
    const known = opened.get(key);
    if (known) return known;
    const row = store.repository(key);
    if (!row) throw new DroverError('no_such_repository', `repository ${key} is not known`, '');
    const repository = openRepository(row.main_worktree ?? row.common_dir);
    repository.catch(() => opened.delete(key));
    opened.set(key, repository);
    return repository;
  };
}
