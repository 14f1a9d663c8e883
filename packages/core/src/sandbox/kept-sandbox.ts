import {
  type ExitRecord,
  KeeperClient,
  KeeperError,
  type KeeperSpec,
  type KeeperStatus,
  readExitRecord,
} from '@drover/helper';
import { DroverError } from '../shared/errors.ts';
import type { Level } from '../tasks/definition.ts';
import type { LimitKey, Limits } from '../tasks/limits.ts';
import { roleDir } from './role-dir.ts';
import type {
  AgentIdentity,
  ExecSpec,
  Sandbox,
  SandboxProcess,
  SandboxRole,
  SandboxStats,
  StartSpec,
} from './types.ts';
import { SANDBOX_ROLES } from './types.ts';

/** What both levels share: everything that goes through the keeper, which needs no privilege and no helper. */
export abstract class KeptSandbox implements Sandbox {
  readonly ref: string;
  /** The attempt's directory. */
  readonly dir: string;
  abstract readonly level: Level;
  abstract readonly identity: AgentIdentity;
  abstract readonly enforced: readonly LimitKey[];

  constructor(ref: string, dir: string) {
    this.ref = ref;
    this.dir = dir;
  }

  abstract start(role: SandboxRole, spec: StartSpec): Promise<void>;
  abstract stats(): Promise<SandboxStats | null>;
  abstract freeze(): Promise<void>;
  abstract thaw(): Promise<void>;
  abstract update(limits: Limits): Promise<void>;
  abstract destroy(): Promise<void>;

  async waitExit(role: SandboxRole, signal?: AbortSignal): Promise<ExitRecord | null> {
    const dir = roleDir(this.dir, role);
    try {
      return await KeeperClient.watch(dir, signal ? { signal } : {});
    } catch (error) {
      if (!isGone(error)) throw error;
      // The keeper writes the record before it goes.
      return readExitRecord(dir);
    }
  }

  async started(role: SandboxRole): Promise<boolean> {
    return (await this.alive(role)) || (await readExitRecord(roleDir(this.dir, role))) !== null;
  }

  async alive(role: SandboxRole): Promise<boolean> {
    return (await this.keeperStatus(role)) !== null;
  }

  exec(role: SandboxRole, spec: ExecSpec): Promise<SandboxProcess> {
    return KeeperClient.exec(roleDir(this.dir, role), spec);
  }

  async stop(role: SandboxRole, graceMs: number): Promise<void> {
    await ignoreGone(KeeperClient.stop(roleDir(this.dir, role), { graceMs }));
  }

  async clock(role: SandboxRole, running: boolean): Promise<void> {
    const dir = roleDir(this.dir, role);
    await ignoreGone(running ? KeeperClient.unpause(dir) : KeeperClient.pause(dir));
  }

  async end(role: SandboxRole): Promise<void> {
    const dir = roleDir(this.dir, role);
    const status = await this.keeperStatus(role);
    if (!status) return;
    if (status.state === 'running') {
      await ignoreGone(KeeperClient.stop(dir, { graceMs: 0 }));
      await this.waitExit(role);
    }
    await ignoreGone(KeeperClient.end(dir));
  }

  protected async endAllRoles(): Promise<void> {
    for (const role of SANDBOX_ROLES) await this.end(role);
  }

  /** null when no keeper answers. */
  async keeperStatus(role: SandboxRole): Promise<KeeperStatus | null> {
    return ignoreGone(KeeperClient.status(roleDir(this.dir, role)));
  }
}

/** The part of a start that the keeper reads. */
export function keeperSpec(spec: StartSpec): Omit<KeeperSpec, 'dir'> {
  return {
    argv: spec.argv,
    env: spec.env,
    cwd: spec.cwd,
    tty: spec.tty,
    stderr: spec.stderr,
    graceMs: spec.graceMs,
    ...(spec.rows === undefined ? {} : { rows: spec.rows }),
    ...(spec.cols === undefined ? {} : { cols: spec.cols }),
    ...(spec.stdinPath === undefined ? {} : { stdin: spec.stdinPath }),
    ...(spec.deadlineMs === null ? {} : { deadlineMs: spec.deadlineMs }),
  };
}

/** Why an agent could not be started, as the engine's error. */
export function startError(error: unknown, argv: readonly string[]): DroverError {
  const program = /^program: (.*)/.exec(error instanceof Error ? error.message : '');
  if (program) {
    return new DroverError(
      'program_missing',
      `${argv[0]} cannot be run: ${program[1]}`,
      'Is it on the PATH that agents see?',
      { cause: error },
    );
  }
  const message = error instanceof Error ? error.message : String(error);
  return new DroverError('sandbox_failed', message, 'Run `drover doctor`.', { cause: error });
}

async function ignoreGone<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof KeeperError && error.code === 'keeper_gone';
}
