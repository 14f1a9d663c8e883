import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { HelperClient, HelperError, type HelperStats } from '@drover/helper';
import { DroverError } from '../shared/errors.ts';
import { retry } from '../shared/retry.ts';
import type { Level } from '../tasks/definition.ts';
import type { LimitKey, Limits } from '../tasks/limits.ts';
import { helperLimits, LIMIT_OF_HELPER_KEY } from './helper-limits.ts';
import { KeptSandbox, keeperSpec, startError } from './kept-sandbox.ts';
import { roleDir } from './role-dir.ts';
import type {
  AgentIdentity,
  CreateSpec,
  Sandbox,
  SandboxProvider,
  SandboxRole,
  SandboxStats,
  StartSpec,
} from './types.ts';

/**
 * Level `enhanced`: the privileged helper makes groups, namespaces and mounts; all else goes through the keeper. The helper may be
 * restarted at any time: a lost connection is made again at the next call.
 */
export class EnhancedProvider implements SandboxProvider {
  readonly level: Level = 'enhanced';
  readonly unsupported: ReadonlyMap<LimitKey, string>;
  readonly #attemptsDir: string;
  readonly #connection: HelperConnection;

  private constructor(attemptsDir: string, connection: HelperConnection, unsupported: ReadonlyMap<LimitKey, string>) {
    this.#attemptsDir = attemptsDir;
    this.#connection = connection;
    this.unsupported = unsupported;
  }

  /** Throws a DroverError when no helper answers at `socket` or it cannot make this level here. */
  static async connect(socket: string, attemptsDir: string): Promise<EnhancedProvider> {
    const connection = new HelperConnection(socket);
    const { hello } = await connection.get();
    const missing = hello.missing.map(({ cap, reason }) => ({ cap, reason }));
    const fatal = missing.find(({ cap }) => !cap.startsWith('limit.'));
    if (fatal) throw new DroverError('level_unavailable', `${fatal.cap}: ${fatal.reason}`, 'Run `drover doctor`.');
    const unsupported = new Map<LimitKey, string>();
    for (const { cap, reason } of missing) {
      const key = LIMIT_OF_HELPER_KEY[cap.slice('limit.'.length)];
      if (key) unsupported.set(key, reason);
    }
    return new EnhancedProvider(attemptsDir, connection, unsupported);
  }

  async create(spec: CreateSpec): Promise<Sandbox> {
    const helper = await this.#connection.patient(async (client) => client);
    try {
      const made = await helper.create({
        tag: spec.attemptId,
        level: 'enhanced',
        oom: spec.oom,
        ioPath: spec.ioPath,
        limits: helperLimits(spec.limits),
      });
      return this.#sandbox(made.sandbox, spec.attemptId, { uid: made.agentUid, gid: made.agentGid }, made.enforced);
    } catch (error) {
      throw helperFailure(error);
    }
  }

  async adopt(ref: string): Promise<Sandbox | null> {
    const listed = await this.#connection.patient((helper) => helper.list());
    const found = listed.find((entry) => entry.sandbox === ref);
    if (!found) return null;
    return this.#sandbox(ref, found.tag, { uid: found.agentUid, gid: found.agentGid }, []);
  }

  async all(): Promise<{ ref: string; attemptId: string }[]> {
    const listed = await this.#connection.patient((helper) => helper.list());
    return listed.map(({ sandbox, tag }) => ({ ref: sandbox, attemptId: tag }));
  }

  async stats(): Promise<Map<string, SandboxStats>> {
    const helper = await this.#connection.get();
    return new Map((await helper.stats()).map((stats) => [stats.sandbox, sandboxStats(stats)]));
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  #sandbox(ref: string, attemptId: string, identity: AgentIdentity, enforced: string[]): EnhancedSandbox {
    const keys = enforced.map((key) => LIMIT_OF_HELPER_KEY[key]).filter((key) => key !== undefined);
    return new EnhancedSandbox(ref, join(this.#attemptsDir, attemptId), identity, keys, this.#connection);
  }
}

class EnhancedSandbox extends KeptSandbox {
  readonly level: Level = 'enhanced';
  readonly identity: AgentIdentity;
  readonly enforced: readonly LimitKey[];
  readonly #connection: HelperConnection;

  constructor(
    ref: string,
    dir: string,
    identity: AgentIdentity,
    enforced: readonly LimitKey[],
    connection: HelperConnection,
  ) {
    super(ref, dir);
    this.identity = identity;
    this.enforced = enforced;
    this.#connection = connection;
  }

  async start(role: SandboxRole, spec: StartSpec): Promise<void> {
    const dir = roleDir(this.dir, role);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    try {
      const helper = await this.#connection.patient(async (client) => client);
      await helper.spawn({ sandbox: this.ref, dir, hostname: spec.hostname, mounts: spec.mounts, ...keeperSpec(spec) });
    } catch (error) {
      throw startError(error, spec.argv);
    }
  }

  /** The kill is the kernel's: the whole group at once, whatever its processes do about signals. */
  override async stop(role: SandboxRole, graceMs: number): Promise<void> {
    await super.stop(role, graceMs);
    if (graceMs === 0) await this.#connection.patient((helper) => helper.kill(this.ref, 'agent'));
  }

  async stats(): Promise<SandboxStats | null> {
    const [stats] = await this.#connection.patient((helper) => helper.stats(this.ref));
    return stats ? sandboxStats(stats) : null;
  }

  async freeze(): Promise<void> {
    await this.#connection.patient((helper) => helper.freeze(this.ref));
    await this.clock('agent', false);
  }

  async thaw(): Promise<void> {
    await this.#connection.patient((helper) => helper.thaw(this.ref));
    await this.clock('agent', true);
  }

  async update(limits: Limits): Promise<void> {
    await this.#connection.patient((helper) => helper.update(this.ref, helperLimits(limits)));
  }

  async destroy(): Promise<void> {
    await this.endAllRoles();
    try {
      await this.#connection.patient((helper) => helper.kill(this.ref, 'all'));
      await this.#connection.patient((helper) => helper.remove(this.ref));
    } catch (error) {
      if (!(error instanceof HelperError && error.code === 'no_such_sandbox')) throw error;
    }
  }
}

/** One connection to the helper, made when it is needed and made again after it was lost. */
class HelperConnection {
  readonly #socket: string;
  #client: Promise<HelperClient> | undefined;

  constructor(socket: string) {
    this.#socket = socket;
  }

  get(): Promise<HelperClient> {
    const open = this.#client ?? this.#open();
    this.#client = open;
    return open;
  }

  /**
   * A call that may be made twice. A helper that is away is waited for, about half a minute: whoever supervises it starts it
   * again, and what its absence would break off here is an agent's work.
   */
  patient<T>(call: (helper: HelperClient) => Promise<T>): Promise<T> {
    return retry(async () => call(await this.get()), { attempts: 45, baseMs: 50, maxMs: 1_000, retryIf: isAway });
  }

  async #open(): Promise<HelperClient> {
    try {
      const client = await HelperClient.connect(this.#socket);
      void client.closed.then(() => {
        this.#client = undefined;
      });
      return client;
    } catch (error) {
      this.#client = undefined;
      throw helperFailure(error);
    }
  }

  close(): void {
    void this.#client?.then(
      (client) => client.close(),
      () => undefined,
    );
  }
}

function sandboxStats(stats: HelperStats): SandboxStats {
  return {
    ...(stats.cpuUs === undefined ? {} : { cpuUs: stats.cpuUs }),
    ...(stats.mem === undefined ? {} : { memoryBytes: stats.mem }),
    ...(stats.memAnon === undefined ? {} : { memoryAnonBytes: stats.memAnon }),
    ...(stats.memPeak === undefined ? {} : { memoryPeakBytes: stats.memPeak }),
    ...(stats.pids === undefined ? {} : { pids: stats.pids }),
    ...(stats.oomKills === undefined ? {} : { oomKills: stats.oomKills }),
    ...(stats.pidsMaxHits === undefined ? {} : { pidsMaxHits: stats.pidsMaxHits }),
    ...(stats.rbytes === undefined ? {} : { readBytes: stats.rbytes }),
    ...(stats.wbytes === undefined ? {} : { writeBytes: stats.wbytes }),
    ...(stats.frozen === undefined ? {} : { frozen: stats.frozen }),
    ...(stats.populated === undefined ? {} : { populated: stats.populated }),
  };
}

function isAway(error: unknown): boolean {
  const code = error instanceof DroverError || error instanceof HelperError ? error.code : '';
  return code === 'helper_unreachable' || code === 'helper_lost';
}

function helperFailure(error: unknown): DroverError {
  if (error instanceof DroverError) return error;
  const code = error instanceof HelperError ? error.code : 'helper_unreachable';
  const message = error instanceof Error ? error.message : String(error);
  return new DroverError(code, message, 'Run `drover doctor`.', { cause: error });
}
