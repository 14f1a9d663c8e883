import { DEFAULT_LIMITS, LIMIT_KEYS, LIMIT_RULES } from '../tasks/limits.ts';
import { SHIPPED_ENVIRONMENT } from './environment.ts';

const MINUTE = 60_000;
const MIB = 1024 ** 2;

/** What holds where no layer says otherwise, by canonical key, as parsed values. A key that is not here has no value. */
export const SHIPPED_DEFAULTS: Readonly<Record<string, unknown>> = {
  'execution_engine.max_parallel_agents': 10,
  'execution_engine.scheduling.strategy': 'priority_based',
  'execution_engine.scheduling.max_queue_size': 1000,
  'execution_engine.scheduling.preemption_enabled': false,
  'execution_engine.monitoring.metrics_interval': 30_000,
  'execution_engine.monitoring.alert_thresholds.cpu_usage': 80,
  'execution_engine.monitoring.alert_thresholds.memory_usage': 85,
  'execution_engine.monitoring.alert_thresholds.disk_io_wait': 50,
  ...shippedLimits(),
  'timeouts.wall': 120 * MINUTE,
  'timeouts.idle': 30 * MINUTE,
  'timeouts.grace': 10_000,
  'timeouts.setup': 15 * MINUTE,
  'timeouts.verify': 30 * MINUTE,
  'admission.memory_estimate': 512 * MIB,
  'admission.memory_headroom': 512 * MIB,
  'agents.default': 'claude',
  'environment.pass': SHIPPED_ENVIRONMENT,
  'worktrees.keep': 'never',
  'retry.max_attempts': 2,
};

function shippedLimits(): Record<string, unknown> {
  const given = LIMIT_KEYS.filter((key) => DEFAULT_LIMITS[key] !== undefined);
  return Object.fromEntries(given.map((key) => [`limits.${LIMIT_RULES[key].key}`, DEFAULT_LIMITS[key]]));
}
