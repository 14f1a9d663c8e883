/** Limits of one attempt, as numbers of one unit each. {@link LIMIT_RULES} carries all that files, help and docs say of them. */
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

export type LimitUnit = 'cpus' | 'bytes' | 'rate' | 'count' | 'cpuset';

export interface LimitRule {
  /** The key under `limits:` in files. */
  readonly key: string;
  readonly unit: LimitUnit;
  readonly min: number;
  readonly max: number;
  /** May an untrusted file lower it (`max`), name fewer CPUs (`subset`), or is it no matter of trust. */
  readonly tighten: 'max' | 'subset' | null;
  /** One sentence for people. */
  readonly meaning: string;
  /** The same limit's key in `execution_engine.resource_quotas`. */
  readonly quota?: string;
}

const MIB = 1024 ** 2;
const MOST = Number.MAX_SAFE_INTEGER;

const rule = (
  key: string,
  unit: LimitUnit,
  [min, max]: readonly [number, number],
  meaning: string,
  more: { quota?: string; tighten?: 'subset' | null } = {},
): LimitRule => ({ key, unit, min, max, tighten: 'max', meaning, ...more });

/** The one table of limits, in the order in which they are shown. */
export const LIMIT_RULES: Readonly<Record<LimitKey, LimitRule>> = {
  cpus: rule('cpus', 'cpus', [0.01, 4096], 'CPU quota: `0.5` is half a CPU.', { quota: 'cpu_per_agent' }),
  cpuWeight: rule('cpu_weight', 'count', [1, 10_000], 'Share against other agents under contention; 100 is even.'),
  cpuset: rule('cpuset', 'cpuset', [0, 4095], 'CPUs to run on, such as `0-1,3`.', { tighten: 'subset' }),
  memory: rule('memory', 'bytes', [16 * MIB, MOST], 'Memory; at the limit the kernel ends the agent.', {
    quota: 'memory_per_agent',
  }),
  swap: rule('swap', 'bytes', [0, MOST], 'Swap beyond memory.'),
  swappiness: rule('swappiness', 'count', [0, 100], 'How readily memory is swapped out.', { tighten: null }),
  pids: rule('pids', 'count', [8, 4_194_304], 'Processes and threads.'),
  readBps: rule('read_bps', 'rate', [1024, MOST], "Bytes per second from the worktree's device.", {
    quota: 'disk_io_read_limit',
  }),
  writeBps: rule('write_bps', 'rate', [1024, MOST], "Bytes per second to the worktree's device.", {
    quota: 'disk_io_write_limit',
  }),
  readIops: rule('read_iops', 'count', [1, MOST], "Reads per second from the worktree's device."),
  writeIops: rule('write_iops', 'count', [1, MOST], "Writes per second to the worktree's device."),
};

export const LIMIT_KEYS = Object.keys(LIMIT_RULES) as LimitKey[];

/** Shipped default: memory and pids only. The article's figures are the preset `article`. */
export const DEFAULT_LIMITS: Readonly<Limits> = { memory: 4 * 1024 ** 3, pids: 1024 };
