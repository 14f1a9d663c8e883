import * as z from 'zod';
import { KEEP_WORKTREES, LEVELS, STRATEGIES, type Strategy } from '../tasks/definition.ts';
import { LIMIT_RULES } from '../tasks/limits.ts';
import { checkPattern } from './environment.ts';
import { key } from './key-meta.ts';
import { PRESET_NAMES } from './presets.ts';
import {
  badValue,
  count,
  duration,
  flag,
  parsed,
  percent,
  plainText,
  size,
  text,
  texts,
  toTexts,
  toWord,
  word,
} from './values.ts';
import { limitKey, limitsSchema, MAX_ATTEMPTS, setupKey, timeoutsSchema, typeSchema } from './work-schema.ts';

/** The one schema of configuration. Docs, unknown-key hints and the trust rule are read off it. */

/** Named by the article, and not to be had in this version: refused rather than pretended. */
const LATER_STRATEGIES: readonly Strategy[] = ['fair', 'shortest_first'];
const NOW_STRATEGIES = STRATEGIES.filter((strategy) => !LATER_STRATEGIES.includes(strategy));

const strategy = parsed((value): Strategy => {
  if (LATER_STRATEGIES.includes(value as Strategy)) {
    throw badValue(`\`${value}\` is not in this version`, `Use one of ${NOW_STRATEGIES.join(', ')}.`);
  }
  return toWord(NOW_STRATEGIES, value);
});

const percentKey = (meaning: string) => key(percent(), { kind: 'percent', meaning, trust: 'free' });

const quotas = z.strictObject(
  Object.fromEntries(
    Object.values(LIMIT_RULES)
      .filter((rule) => rule.quota !== undefined)
      .map((rule) => [rule.quota as string, limitKey(rule, `limits.${rule.key}`)]),
  ),
);

const scheduling = z.strictObject({
  strategy: key(strategy, {
    kind: 'word',
    words: NOW_STRATEGIES,
    meaning: '`priority_based`: class, then priority with aging. `fifo`: in the order of submission.',
    trust: 'free',
  }),
  max_queue_size: key(count(1, 100_000), {
    kind: 'count',
    meaning: 'Tasks that may be open at a time; a plan with more is refused.',
    trust: { tighten: 'max' },
  }),
  preemption_enabled: key(flag(), {
    kind: 'flag',
    meaning: 'Freeze the lowest agent for an urgent task.',
    trust: 'free',
  }),
});

const monitoring = z.strictObject({
  metrics_interval: key(duration(1000, 'bounded'), {
    kind: 'duration',
    meaning: 'Time between two measurements.',
    trust: 'free',
  }),
  alert_thresholds: z
    .strictObject({
      cpu_usage: percentKey('CPU use that raises an alert.'),
      memory_usage: percentKey('Memory use that raises an alert.'),
      disk_io_wait: percentKey('I/O wait that raises an alert.'),
    })
    .optional(),
});

const executionEngine = z.strictObject({
  max_parallel_agents: key(count(1, 1000), {
    kind: 'count',
    meaning: 'Agents that run at a time.',
    trust: { tighten: 'max' },
  }),
  isolation_level: key(word(LEVELS), {
    kind: 'word',
    words: LEVELS,
    meaning: 'Without it: `enhanced` where it can be had, else `basic`. A level named here is met or refused.',
    trust: { tighten: 'order', order: LEVELS, absent: 'enhanced' },
  }),
  resource_quotas: quotas.optional(),
  scheduling: scheduling.optional(),
  monitoring: monitoring.optional(),
});

const agentSettings = z.strictObject({
  path: key(absolutePath(), {
    kind: 'text',
    meaning: 'Absolute path of its program, instead of the one on PATH.',
    trust: 'userOnly',
  }),
  model: key(text('the name of a model'), {
    kind: 'text',
    meaning: 'Model of tasks that name none.',
    trust: 'free',
  }),
  env: key(patterns(), {
    kind: 'texts',
    merge: 'append',
    meaning: 'Variables of your environment that it gets besides those of `environment.pass`.',
    trust: 'userOnly',
    example: '[ANTHROPIC_API_KEY]',
  }),
  args: key(texts('an argument'), {
    kind: 'texts',
    meaning: 'More arguments for its program.',
    trust: 'userOnly',
  }),
});

const agents = z
  .object({
    default: key(text('the name of an agent'), {
      kind: 'word',
      meaning: 'Agent of tasks that have a prompt and name none.',
      trust: 'free',
    }),
  })
  .catchall(agentSettings);

const typeName = z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/);

export const configSchema = z.strictObject({
  preset: key(word(PRESET_NAMES), {
    kind: 'word',
    words: PRESET_NAMES,
    meaning: 'A set of values that other keys of the same file override.',
    trust: 'free',
  }),
  execution_engine: executionEngine.optional(),
  limits: limitsSchema.optional(),
  timeouts: timeoutsSchema.optional(),
  admission: z
    .strictObject({
      memory_estimate: key(size(1024 ** 2), {
        kind: 'size',
        meaning: 'Memory that an agent is expected to use until more is known; never more than its limit counts.',
        trust: { tighten: 'min' },
      }),
      memory_headroom: key(size(0), {
        kind: 'size',
        meaning: 'Memory of the machine that no agent is started into.',
        trust: { tighten: 'min' },
      }),
    })
    .optional(),
  agents: agents.optional(),
  environment: z
    .strictObject({
      pass: key(patterns(), {
        kind: 'texts',
        merge: 'append',
        meaning: 'Variables of your environment that every agent gets, besides the shipped list. `*` may end a name.',
        trust: 'userOnly',
        example: '[NPM_CONFIG_*]',
      }),
    })
    .optional(),
  setup: setupKey(),
  types: z
    .record(
      typeName,
      key(typeSchema, {
        kind: 'section',
        meaning: 'What tasks of this type get that they do not say themselves. A later layer replaces the whole type.',
        trust: 'free',
      }),
    )
    .optional(),
  worktrees: z
    .strictObject({
      keep: key(word(KEEP_WORKTREES), {
        kind: 'word',
        words: KEEP_WORKTREES,
        meaning: 'Worktrees that stay after their attempt; what they hold is in a snapshot in any case.',
        trust: 'free',
      }),
    })
    .optional(),
  retry: z
    .strictObject({
      max_attempts: key(count(1, MAX_ATTEMPTS), {
        kind: 'count',
        meaning: 'Attempts that may be spent on a task, where its outcome allows another.',
        trust: 'free',
      }),
    })
    .optional(),
});

export type ConfigSettings = z.output<typeof configSchema>;

function patterns() {
  return parsed((value) => toTexts(value, 'the name of a variable').map(checkPattern));
}

function absolutePath() {
  return parsed((value) => {
    const path = plainText(value, 'a path');
    if (!path.startsWith('/')) throw badValue(`\`${path}\` is not an absolute path`, 'Begin it with `/`.');
    return path;
  });
}
