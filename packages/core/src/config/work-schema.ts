import * as z from 'zod';
import { TASK_CLASSES } from '../tasks/definition.ts';
import { LIMIT_RULES, type LimitRule } from '../tasks/limits.ts';
import { toEnvironment } from './environment.ts';
import { key, type Trust } from './key-meta.ts';
import { amount, command, commands, count, duration, limit, parsed, priority, text, word } from './values.ts';

/** Keys that say what is to be done and how: those that tasks, `defaults` and `types` have in common. */

const EXPECTS = ['changes', 'none'] as const;
const OOM = ['kill', 'tolerate'] as const;
const MIN_MS = 1000;
export const MAX_ATTEMPTS = 20;

const LIMIT_KINDS = { cpus: 'cpus', bytes: 'size', rate: 'rate', cpuset: 'cpuset', count: 'count' } as const;

function limitTrust(rule: LimitRule): Trust {
  return rule.tighten === null ? 'free' : { tighten: rule.tighten };
}

/** One limit under the name that the table gives it, or under another. */
export function limitKey(rule: LimitRule, aliasOf?: string) {
  return key(limit(rule), {
    kind: LIMIT_KINDS[rule.unit],
    meaning: rule.meaning,
    trust: limitTrust(rule),
    ...(aliasOf === undefined ? {} : { aliasOf }),
  });
}

/** `limits:`, made from the table of limits. */
export const limitsSchema = z.strictObject(
  Object.fromEntries(Object.values(LIMIT_RULES).map((rule) => [rule.key, limitKey(rule)])),
);

/** `timeouts:`. */
export const timeoutsSchema = z.strictObject({
  wall: key(duration(MIN_MS, 'none'), {
    kind: 'duration',
    meaning: "An attempt's running time, frozen time not counted.",
    trust: 'free',
  }),
  idle: key(duration(MIN_MS, 'none'), {
    kind: 'duration',
    meaning: 'Time without output and without use of CPU.',
    trust: 'free',
  }),
  grace: key(duration(0, 'bounded'), {
    kind: 'duration',
    meaning: 'Time between SIGTERM and the kill, also for an agent that has finished but does not exit.',
    trust: 'free',
  }),
  setup: key(duration(MIN_MS, 'none'), { kind: 'duration', meaning: 'For each setup command.', trust: 'free' }),
  verify: key(duration(MIN_MS, 'none'), { kind: 'duration', meaning: 'For the verify command.', trust: 'free' }),
});

export const setupKey = () =>
  key(commands(), {
    kind: 'commands',
    meaning: 'Run in the sandbox before the agent, one after the other; the first that fails ends the attempt.',
    trust: 'free',
    example: '[npm ci]',
  });

export const workShape = {
  agent: key(text('the name of an agent'), {
    kind: 'word',
    meaning: 'Agent that does it; its other names (`claude-code`) are good too.',
    trust: 'free',
    example: 'claude',
  }),
  model: key(text('the name of a model'), {
    kind: 'text',
    meaning: 'Model, in the words of the agent.',
    trust: 'free',
  }),
  prompt: key(text('a prompt'), { kind: 'text', meaning: 'For agents that take a prompt.', trust: 'free' }),
  command: key(command(), {
    kind: 'command',
    meaning: 'For the agent `command`: a list is its argv, a text goes to `sh -c`.',
    trust: 'free',
    example: '[npm, test]',
  }),
  verify: key(command(), {
    kind: 'command',
    meaning: 'Run in the sandbox after the agent; exit 0 is success. List or text as with `command`.',
    trust: 'free',
  }),
  expects: key(word(EXPECTS), {
    kind: 'word',
    words: EXPECTS,
    meaning: '`changes`: without a commit or a change the outcome is `no_changes`.',
    trust: 'free',
  }),
  class: key(word(TASK_CLASSES), {
    kind: 'word',
    words: TASK_CLASSES,
    meaning: 'What comes first, before any priority.',
    trust: 'free',
  }),
  priority: key(priority(), {
    kind: 'priority',
    meaning: '`high` (75), `medium` (50), `low` (25), or a number from 0 to 100.',
    trust: 'free',
  }),
  limits: limitsSchema.optional(),
  timeout: key(duration(MIN_MS, 'none'), {
    kind: 'duration',
    meaning: 'Short for `timeouts.wall`.',
    trust: 'free',
    example: '30m',
  }),
  timeouts: timeoutsSchema.optional(),
  env: key(parsed(toEnvironment), {
    kind: 'environment',
    meaning: 'More environment. Names of keys and of servers are for your own configuration only.',
    trust: 'free',
  }),
  oom: key(word(OOM), {
    kind: 'word',
    words: OOM,
    meaning: '`tolerate`: a kill by the memory limit does not end the attempt if the agent lives on.',
    trust: 'free',
  }),
  retries: key(count(0, MAX_ATTEMPTS - 1), {
    kind: 'count',
    meaning: '`max_attempts` less one.',
    trust: 'free',
  }),
  max_attempts: key(count(1, MAX_ATTEMPTS), {
    kind: 'count',
    meaning: 'Attempts that may be spent on it.',
    trust: 'free',
  }),
  max_turns: key(count(1, 100_000), { kind: 'count', meaning: 'For agents that can be told.', trust: 'free' }),
  max_budget_usd: key(amount(1_000_000), {
    kind: 'number',
    meaning: 'Dollars, for agents that can be told.',
    trust: 'free',
  }),
  setup: setupKey(),
};

/** An entry of `types:`. */
export const typeSchema = z.strictObject(workShape);

export type LimitSettings = Partial<Record<string, number | string | null>>;
export type TimeoutSettings = z.output<typeof timeoutsSchema>;
/** What one level (task, type, defaults) says, units read. */
export type WorkSettings = Omit<z.output<typeof typeSchema>, 'limits'> & { limits?: LimitSettings | undefined };
