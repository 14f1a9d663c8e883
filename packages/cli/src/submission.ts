import type { Context, OptionSpec } from './define-command.ts';
import { keyValue, oneOf } from './option-values.ts';

/** Flags that `run` and `spawn` share, and the configuration key that each sets. */
export interface SubmissionFlags {
  level?: string;
  maxParallel?: number;
  limit?: Record<string, string>;
  set?: Record<string, string>;
}

const LEVELS = ['basic', 'enhanced', 'full'];

export const SUBMISSION_OPTIONS: readonly OptionSpec[] = [
  {
    flags: '--level <level>',
    description: 'Isolation: basic, enhanced or full. Met or refused, never lowered',
    parse: oneOf('--level', LEVELS),
  },
  {
    flags: '--limit <key=value>',
    description: 'A limit for every task, e.g. memory=2G, cpus=0.5, pids=512. Repeatable',
    parse: keyValue('--limit'),
  },
  {
    flags: '--set <key=value>',
    description: 'Any configuration key, as `drover config show` names it. Repeatable',
    parse: keyValue('--set'),
  },
  { flags: '-d, --detach', description: 'Do not follow: return when the engine has taken it' },
];

/** Flags as configuration keys. They win over every file. */
export function overridesOf(flags: SubmissionFlags): Record<string, unknown> {
  const overrides: Record<string, unknown> = { ...flags.set };
  if (flags.level !== undefined) overrides['execution_engine.isolation_level'] = flags.level;
  if (flags.maxParallel !== undefined) overrides['execution_engine.max_parallel_agents'] = flags.maxParallel;
  for (const [key, value] of Object.entries(flags.limit ?? {})) overrides[`limits.${key}`] = value;
  return overrides;
}

/** What every submission brings along. */
export function submissionBase(context: Context, flags: SubmissionFlags) {
  const env = Object.fromEntries(Object.entries(context.env).filter((e): e is [string, string] => e[1] !== undefined));
  return { cwd: context.cwd, env, overrides: overridesOf(flags) };
}
