import { DroverError } from '../shared/errors.ts';
import { checkSocketPath } from './claim-socket.ts';
import type { FleetEvent } from './contract.ts';
import type { EngineApi } from './engine-api.ts';
import { ConnectionError, readJson, send } from './http-call.ts';
import { engineSocket, stateDir } from './paths.ts';
import { API_VERSION } from './version.ts';
import { waitForSocket } from './wait-for-socket.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface ConnectOptions {
  /** Where the state directory is found. Default: the process's own. */
  env?: Env;
  /** Start an engine where none answers, now and after a crash. */
  start: boolean;
  /** The engine's program, in the place of the built one. */
  engineArgv?: readonly string[];
}

const PROBE_TIMEOUT_MS = 5000;
const QUERY_TIMEOUT_MS = 60_000;
/** How long a supervisor may take to bring a crashed engine back. */
const RESTART_WAIT_MS = 3000;

/**
 * The engine's API over its socket. Rejects with `engine_unreachable` when there is none (and `start` is false), `engine_version` when it
 * is another release's, `engine_start_failed` when it could not be started.
 */
export async function connectEngine(options: ConnectOptions): Promise<EngineApi> {
  const link = new EngineLink(options);
  await link.reach();
  return clientOf(link);
}

/** The same without the first look: it connects, and starts an engine if `start`, when it is first called. */
export function lazyEngine(options: ConnectOptions): EngineApi {
  return clientOf(new EngineLink(options));
}

function clientOf(link: EngineLink): EngineApi {
  return {
    info: () => link.query('info'),
    shutdown: (input) => link.mutate('shutdown', input),
    submitPlan: (input) => link.mutate('submitPlan', input),
    spawnTask: (input) => link.mutate('spawnTask', input),
    status: (input) => link.query('status', input),
    task: (input) => link.query('task', input),
    stop: (input) => link.mutate('stop', input),
    remove: (input) => link.mutate('remove', input),
    diff: (input) => link.query('diff', input),
    logs: (input) => link.query('logs', input),
    events: (input, signal) => events(link, input, signal),
    close: async () => {},
  };
}

/** One engine as seen by one client: how to call it and how to find it again. */
class EngineLink {
  readonly #env: Env;
  readonly #start: boolean;
  readonly #argv: readonly string[] | undefined;
  readonly socketPath: string;
  #wasThere = false;

  constructor(options: ConnectOptions) {
    this.#env = options.env ?? process.env;
    this.#start = options.start;
    this.#argv = options.engineArgv;
    this.socketPath = engineSocket(this.#env);
    checkSocketPath(this.socketPath);
  }

  /** Resolves when an engine of this version answers. One that was there before may be brought back by its supervisor: it gets the time. */
  async reach(): Promise<void> {
    if (await this.#probe()) return;
    if (this.#wasThere && (await comesBack(this.socketPath)) && (await this.#probe())) return;
    if (!this.#start) throw unreachable(stateDir(this.#env));
    const { startEngine } = await import('./start-engine.ts');
    await startEngine({ env: this.#env, ...(this.#argv ? { argv: this.#argv } : {}) });
    if (!(await this.#probe())) throw unreachable(stateDir(this.#env));
  }

  /** A call that changes nothing: asked once more when the engine went away under it. */
  async query<T>(name: string, input?: unknown): Promise<T> {
    const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`;
    const ask = () => this.#call<T>({ method: 'GET', path: `/trpc/${name}${query}`, timeoutMs: QUERY_TIMEOUT_MS });
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      await this.reach();
      return await ask().catch(rethrow);
    }
  }

  /** A call that changes something: repeated only when the engine cannot have seen it. */
  async mutate<T>(name: string, input: unknown): Promise<T> {
    const tell = () => this.#call<T>({ method: 'POST', path: `/trpc/${name}`, body: input });
    try {
      return await tell();
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      if (error.sent) throw lostDuring(name, error);
      await this.reach();
      return await tell().catch(rethrow);
    }
  }

  async #call<T>(call: Omit<Parameters<typeof send>[0], 'socketPath'>): Promise<T> {
    const response = await send({ ...call, socketPath: this.socketPath });
    this.#wasThere = true;
    const body = (await readJson(response)) as { result?: { data?: T } };
    return body.result?.data as T;
  }

  /** False when nothing answers. Throws for an engine of another version and for a socket that is not ours. */
  async #probe(): Promise<boolean> {
    try {
      const call = {
        socketPath: this.socketPath,
        method: 'GET',
        path: '/version',
        timeoutMs: PROBE_TIMEOUT_MS,
      } as const;
      checkVersion((await readJson(await send(call))) as EngineIdentity);
      this.#wasThere = true;
      return true;
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      if ((error.cause as NodeJS.ErrnoException).code === 'EACCES') throw notOurs(this.socketPath);
      return false;
    }
  }
}

interface EngineIdentity {
  apiVersion?: number;
  version?: string;
  pid?: number;
}

function checkVersion(engine: EngineIdentity): void {
  if (engine.apiVersion === API_VERSION) return;
  const error = new DroverError(
    'engine_version',
    `The running engine (drover ${engine.version ?? 'of an unknown version'}) speaks version ${engine.apiVersion} of the API, this drover version ${API_VERSION}.`,
    'End it: drover down --force. Agents go on, and the next command starts an engine of this version, which adopts them.',
  );
  throw Object.assign(error, { pid: engine.pid });
}

async function comesBack(socketPath: string): Promise<boolean> {
  return await waitForSocket(socketPath, RESTART_WAIT_MS).catch(() => false);
}

function rethrow(error: unknown): never {
  throw error instanceof ConnectionError ? lostDuring('the call', error) : error;
}

function lostDuring(name: string, cause: Error): DroverError {
  const message = `The engine went away during ${name}; it may have been done or not.`;
  return new DroverError('engine_unreachable', message, 'Look at: drover status', { cause });
}

function unreachable(dir: string): DroverError {
  const hint = 'It starts with the first task, or with: drover up';
  return new DroverError('engine_unreachable', `No engine is running for ${dir}.`, hint);
}

function notOurs(path: string): DroverError {
  const hint = 'Every user has an engine of his own; see DROVER_STATE_DIR.';
  return new DroverError('engine_unreachable', `No permission to use the engine's socket ${path}.`, hint);
}

/**
 * Events without loss or repetition over crashes of the engine: each subscription begins after the last event that was seen.
 * An engine that was shut down in an orderly way ends it with `engine_stopped`.
 */
async function* events(
  link: EngineLink,
  input: { sinceSeq: number; plan?: string | undefined },
  signal: AbortSignal,
): AsyncGenerator<FleetEvent> {
  let last = input.sinceSeq;
  while (!signal.aborted) {
    try {
      const { subscribe } = await import('./subscribe.ts');
      for await (const event of subscribe(link.socketPath, { ...input, sinceSeq: last }, signal)) {
        if (event.seq <= last) continue;
        last = event.seq;
        yield event;
      }
      if (!signal.aborted) throw stopped();
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ConnectionError)) throw error;
      await link.reach();
    }
  }
}

function stopped(): DroverError {
  return new DroverError('engine_stopped', 'The engine was shut down. Agents go on.', 'It adopts them with: drover up');
}
