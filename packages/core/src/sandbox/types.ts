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
  readonly identity: AgentIdentity;
  readonly enforced: readonly LimitKey[];

  /** Starts keeper, init and agent. Resolves when the agent's program runs; rejects with `sandbox_failed` and the stage. */
  start(spec: StartSpec): Promise<void>;
  /** Resolves with the exit record; with null when keeper and record are both gone. */
  waitExit(signal?: AbortSignal): Promise<ExitRecord | null>;
  /** True while a keeper answers: then {@link exec} can be used. */
  alive(): Promise<boolean>;
  exec(spec: ExecSpec): Promise<SandboxProcess>;
  /** SIGTERM, after the grace everything is killed. Resolves when the agent group is empty. */
  stop(graceMs: number): Promise<void>;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  update(limits: Limits): Promise<void>;
  /** Ends init and keeper and whatever is left, and removes groups, mounts and registry entry. Safe to repeat. */
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
  /** Figures of all sandboxes of this engine by ref, in one call. */
  stats(): Promise<Map<string, SandboxStats>>;
  close(): Promise<void>;
}
