import type { LimitKey, Limits } from '../tasks/limits.ts';

/** The kernel's default period of the CPU quota, microseconds. */
const PERIOD_US = 100_000;

/** Each limit's key in the helper's protocol, and how its value is written there. */
const TABLE: Record<LimitKey, { key: string; value: (limit: never) => string }> = {
  cpus: { key: 'cpu_quota_us', value: (cpus: number) => String(Math.round(cpus * PERIOD_US)) },
  cpuWeight: { key: 'cpu_weight', value: whole },
  cpuset: { key: 'cpuset', value: (cpus: string) => cpus },
  memory: { key: 'memory_max', value: whole },
  swap: { key: 'swap_max', value: whole },
  swappiness: { key: 'swappiness', value: whole },
  pids: { key: 'pids_max', value: whole },
  readBps: { key: 'io_rbps', value: whole },
  writeBps: { key: 'io_wbps', value: whole },
  readIops: { key: 'io_riops', value: whole },
  writeIops: { key: 'io_wiops', value: whole },
};

/** From the helper's key to Drover's. */
export const LIMIT_OF_HELPER_KEY: Readonly<Record<string, LimitKey>> = Object.fromEntries(
  Object.entries(TABLE).map(([limit, { key }]) => [key, limit as LimitKey]),
);

/** Limits as the helper's protocol writes them. */
export function helperLimits(limits: Limits): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [limit, value] of Object.entries(limits)) {
    if (value === undefined) continue;
    const { key, value: write } = TABLE[limit as LimitKey];
    out[key] = write(value as never);
  }
  return out;
}

function whole(n: number): string {
  return String(Math.round(n));
}
