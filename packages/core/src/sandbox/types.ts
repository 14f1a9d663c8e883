import type { Readable, Writable } from 'node:stream';
import type { ExitRecord } from '@drover/helper';
import type { Level } from '../tasks/definition.ts';
import type { LimitKey, Limits } from '../tasks/limits.ts';

/** One more mount of a sandbox, made in order over its base. `dst` is the path inside. */
export type Mount =
  | { kind: 'ro' | 'rw'; src: string; dst: string }
  | { kind: 'tmpfs'; dst: string; sizeBytes?: number };

/** Who the agent is on this machine. Files it must own are given to this uid and gid. */
export interface AgentIdentity {
  uid: number;
  gid: number;
}

export interface CreateSpec {
  attemptId: string;
  limits: Limits;
  oom: 'kill' | 'tolerate';
  /** A path on the device that I/O limits are for. */
  ioPath: string;
}

/**
 * A sandbox is entered up to three times, each time with a keeper and an init of its own over the same mounts:
 * for setup commands, for the agent, and, where the agent's init is gone (OOM, reboot), to settle.
 */
export const SANDBOX_ROLES = ['setup', 'agent', 'settle'] as const;
export type SandboxRole = (typeof SANDBOX_ROLES)[number];

export interface StartSpec {
  argv: string[];
  /** The whole environment, nothing is inherited. */
  env: Record<string, string>;
  cwd: string;
  mounts: Mount[];
  hostname: string;
  tty: boolean;
  rows?: number;
  cols?: number;
  stderr: 'split' | 'merge';
  /** A file the agent reads as stdin; absent: nothing. */
  stdinPath?: string;
  deadlineMs: number | null;
  graceMs: number;
}

export interface ExecSpec {
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  /** `agent`: under the agent's limits (setup, verify). `side`: beside it, with a small allowance (git plumbing). */
  group: 'agent' | 'side';
  timeoutMs?: number;
  /** Ends the command; its `result` then rejects. */
  signal?: AbortSignal;
}

export interface ExecResult {
  code: number | null;
  signal: number | null;
}

/** A command running in a sandbox. `result` rejects only when the sandbox itself went away. */
export interface SandboxProcess {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  result: Promise<ExecResult>;
}

/** Figures of one sandbox. A figure that the machine does not give is absent. */
export interface SandboxStats {
  cpuUs?: number;
  memoryBytes?: number;
  memoryAnonBytes?: number;
  memoryPeakBytes?: number;
  pids?: number;
  oomKills?: number;
  pidsMaxHits?: number;
  readBytes?: number;
  writeBytes?: number;
  frozen?: boolean;
  populated?: boolean;
}

/**
 * The sandbox of one attempt. It outlives the engine: everything here can be done again after a restart,
 * on the sandbox that {@link SandboxProvider.adopt} gives back.
 */
export interface Sandbox {
  /** What the store keeps to find it again. */
  readonly ref: string;
  readonly level: Level;
  readonly identity: AgentIdentity;
  readonly enforced: readonly LimitKey[];

  /** Starts keeper, init and job 0. Resolves when its program runs; rejects with `sandbox_failed` and the stage. */
  start(role: SandboxRole, spec: StartSpec): Promise<void>;
  /** Resolves with the exit record of job 0; with null when keeper and record are both gone. */
  waitExit(role: SandboxRole, signal?: AbortSignal): Promise<ExitRecord | null>;
  /** True when job 0 of the role was started at some time: its keeper answers, or its exit record is there. */
  started(role: SandboxRole): Promise<boolean>;
  /** True while a keeper answers: then {@link exec} can be used. */
  alive(role: SandboxRole): Promise<boolean>;
  exec(role: SandboxRole, spec: ExecSpec): Promise<SandboxProcess>;
  /** SIGTERM to job 0, after the grace everything is killed. Resolves when the agent group is empty. */
  stop(role: SandboxRole, graceMs: number): Promise<void>;
  /** The deadline's clock of job 0 stands still between `false` and `true`. */
  clock(role: SandboxRole, running: boolean): Promise<void>;
  /** Ends init and keeper of one role; what it still ran is killed. Safe to repeat. */
  end(role: SandboxRole): Promise<void>;
  /** Its figures now; null where there are none. */
  stats(): Promise<SandboxStats | null>;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  update(limits: Limits): Promise<void>;
  /** Ends every role and whatever is left, and removes groups, mounts and registry entry. Safe to repeat. */
  destroy(): Promise<void>;
}

/** Makes sandboxes of one isolation level. */
export interface SandboxProvider {
  readonly level: Level;
  /** Limits that this provider cannot enforce here, with the reason of each. */
  readonly unsupported: ReadonlyMap<LimitKey, string>;
  create(spec: CreateSpec): Promise<Sandbox>;
  /** The sandbox of an earlier engine, or null when nothing of it is left. */
  adopt(ref: string): Promise<Sandbox | null>;
  /** All there are of this user, also those of other engines. */
  all(): Promise<{ ref: string; attemptId: string }[]>;
  /** Figures of all sandboxes of this engine by ref, in one call. */
  stats(): Promise<Map<string, SandboxStats>>;
  close(): Promise<void>;
}
