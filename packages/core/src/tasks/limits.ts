/**
 * Limits of one attempt, as numbers of one unit each. The table carries all that config, plans, help and docs say of a limit;
 * its keys are the ones of `limits:` in a plan.
 */
export interface Limits {
  /** CPU quota in CPUs: 0.5 is half a CPU. */
  cpus?: number;
  /** Share against other agents under contention, 1 to 10000; 100 is even. */
  cpuWeight?: number;
  /** CPUs to run on, e.g. `0-1,3`. */
  cpuset?: string;
  /** Bytes. */
  memory?: number;
  /** Bytes of swap beyond memory. */
  swap?: number;
  /** 0 to 100. */
  swappiness?: number;
  /** Processes and threads. */
  pids?: number;
  /** Bytes per second from the worktree's device. */
  readBps?: number;
  /** Bytes per second to the worktree's device. */
  writeBps?: number;
  /** Reads per second. */
  readIops?: number;
  /** Writes per second. */
  writeIops?: number;
}

export type LimitKey = keyof Limits;

export const LIMIT_KEYS: readonly LimitKey[] = [
  'cpus',
  'cpuWeight',
  'cpuset',
  'memory',
  'swap',
  'swappiness',
  'pids',
  'readBps',
  'writeBps',
  'readIops',
  'writeIops',
];

/** Shipped default: memory and pids only. The article's figures are the preset `article`. */
export const DEFAULT_LIMITS: Readonly<Limits> = { memory: 4 * 1024 ** 3, pids: 1024 };
