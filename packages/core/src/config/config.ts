import type { KeepWorktrees, Level, Strategy } from '../tasks/definition.ts';
import { LIMIT_KEYS, LIMIT_RULES, type LimitKey, type Limits } from '../tasks/limits.ts';
import type { AdapterInfo } from './adapters.ts';
import type { Entry } from './entries.ts';
import type { LimitSettings, WorkSettings } from './work-schema.ts';

export interface AgentSettings {
  /** Absolute path of the program, instead of the one on PATH. */
  path?: string;
  /** Model of tasks that name none. */
  model?: string;
  /** Patterns of variables that it gets besides `environmentPass`. */
  env: string[];
  /** More arguments. */
  args: string[];
}

export interface Timeouts {
  wallMs: number | null;
  idleMs: number | null;
  graceMs: number;
  setupMs: number | null;
  verifyMs: number | null;
}

/** All of configuration, layers applied. */
export interface Config {
  maxParallelAgents: number;
  /** Absent: nobody named one. */
  isolationLevel?: Level;
  limits: Limits;
  /** Limits that a file or flags set, as against shipped defaults. */
  limitsAsked: LimitKey[];
  strategy: Strategy;
  maxQueueSize: number;
  preemptionEnabled: boolean;
  metricsIntervalMs: number;
  alertThresholds: { cpuUsage: number; memoryUsage: number; diskIoWait: number };
  timeouts: Timeouts;
  admission: { memoryEstimateBytes: number; memoryHeadroomBytes: number };
  defaultAgent: string;
  agents: Record<string, AgentSettings>;
  /** Patterns for `passEnvironment`. */
  environmentPass: string[];
  setup: string[][];
  types: Record<string, WorkSettings>;
  keepWorktrees: KeepWorktrees;
  maxAttempts: number;
}

export type Entries = ReadonlyMap<string, Entry>;

/** The typed object of the entries that hold. Types of values are what the schema's parsers gave. */
export function buildConfig(entries: Entries): Config {
  const get = <T>(key: string): T => entries.get(key)?.value as T;
  const level = get<Level | undefined>('execution_engine.isolation_level');
  const thresholds = 'execution_engine.monitoring.alert_thresholds';
  return {
    maxParallelAgents: get('execution_engine.max_parallel_agents'),
    ...(level === undefined ? {} : { isolationLevel: level }),
    limits: toLimits(below(entries, 'limits') as LimitSettings),
    limitsAsked: askedLimits(entries),
    strategy: get('execution_engine.scheduling.strategy'),
    maxQueueSize: get('execution_engine.scheduling.max_queue_size'),
    preemptionEnabled: get('execution_engine.scheduling.preemption_enabled'),
    metricsIntervalMs: get('execution_engine.monitoring.metrics_interval'),
    alertThresholds: {
      cpuUsage: get(`${thresholds}.cpu_usage`),
      memoryUsage: get(`${thresholds}.memory_usage`),
      diskIoWait: get(`${thresholds}.disk_io_wait`),
    },
    timeouts: {
      wallMs: get('timeouts.wall'),
      idleMs: get('timeouts.idle'),
      graceMs: get('timeouts.grace'),
      setupMs: get('timeouts.setup'),
      verifyMs: get('timeouts.verify'),
    },
    admission: {
      memoryEstimateBytes: get('admission.memory_estimate'),
      memoryHeadroomBytes: get('admission.memory_headroom'),
    },
    defaultAgent: get('agents.default'),
    agents: agentTable(below(entries, 'agents')),
    environmentPass: get('environment.pass'),
    setup: get<string[][] | undefined>('setup') ?? [],
    types: below(entries, 'types') as Record<string, WorkSettings>,
    keepWorktrees: get('worktrees.keep'),
    maxAttempts: get('retry.max_attempts'),
  };
}

/** Values of the keys below one, by the rest of their path. */
function below(entries: Entries, section: string): Record<string, unknown> {
  const prefix = `${section}.`;
  const inside = [...entries].filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(inside.map(([key, entry]) => [key.slice(prefix.length), entry.value]));
}

/** Limits of a file's `limits:`; what is `none` there is absent here. */
export function toLimits(settings: LimitSettings): Limits {
  const given = LIMIT_KEYS.filter((key) => settings[LIMIT_RULES[key].key] != null);
  return Object.fromEntries(given.map((key) => [key, settings[LIMIT_RULES[key].key]]));
}

function askedLimits(entries: Entries): LimitKey[] {
  return LIMIT_KEYS.filter((key) => {
    const entry = entries.get(`limits.${LIMIT_RULES[key].key}`);
    return entry !== undefined && entry.value !== null && entry.origin.layer !== 'defaults';
  });
}

function agentTable(settings: Record<string, unknown>): Record<string, AgentSettings> {
  const table: Record<string, AgentSettings> = {};
  for (const [key, value] of Object.entries(settings)) {
    const [name, setting] = key.split('.') as [string, string | undefined];
    if (setting === undefined) continue;
    table[name] = { ...(table[name] ?? { env: [], args: [] }), [setting]: value };
  }
  return table;
}

/** Settings of an agent, under whichever of its names they stand; its own name wins, lists add up. */
export function agentSettings(config: Config, adapter: AdapterInfo): AgentSettings {
  const names = [...adapter.aliases, adapter.name].filter((name) => Object.hasOwn(config.agents, name));
  const found = names.map((name) => config.agents[name]!);
  return {
    ...Object.assign({}, ...found),
    env: found.flatMap(({ env }) => env),
    args: found.flatMap(({ args }) => args),
  };
}
