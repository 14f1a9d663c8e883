import * as z from 'zod';
import { key, values, workShape } from '../config/index.ts';

/** What a plan file holds. The configuration in it is checked by the schema of configuration, not here. */

/** An id, or a list of ids; each once, in the order named. */
const names = values.parsed((value): string[] => {
  const list = Array.isArray(value) ? value : [value];
  return [...new Set(list.map((item) => values.plainText(item, 'the id of a task')))];
});

/** Something git can resolve; whether it can is found out later. Never an option. */
const revision = values.parsed((value): string => {
  const text = values.plainText(value, 'a revision').trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is refused
  if (text.startsWith('-') || /[\s\x00-\x1f]/.test(text)) {
    throw values.badValue(`\`${text}\` is not a revision`, 'Name a branch, a tag or a commit.');
  }
  return text;
});

const typeKey = key(values.text('the name of a type'), {
  kind: 'text',
  meaning: 'A word of your choice; what `types:` holds under it fills in what the task does not say.',
  trust: 'free',
});

/** `defaults:`. */
export const defaultsSchema = z.strictObject({ type: typeKey, ...workShape });

/** An entry of `tasks:`. */
export const taskSchema = z.strictObject({
  id: key(values.text('an id'), {
    kind: 'text',
    meaning: 'Unique in the plan; becomes part of a branch name.',
    trust: 'free',
    example: 'run-tests',
  }),
  type: typeKey,
  depends_on: key(names, {
    kind: 'names',
    meaning: 'Tasks whose results it starts from. All must succeed, else it is blocked.',
    trust: 'free',
    example: '[a, b]',
  }),
  base: key(revision, {
    kind: 'text',
    meaning: "Revision to start from, instead of the plan's base or the dependencies' results.",
    trust: 'free',
  }),
  ...workShape,
});

/** The file as a whole. */
export const planSchema = z.strictObject({
  name: key(values.text('a name'), {
    kind: 'text',
    meaning: "Name of the plan; without it the file's name.",
    trust: 'free',
  }),
  base: key(revision, {
    kind: 'text',
    meaning: 'Revision that tasks without dependencies start from; without it `HEAD`.',
    trust: 'free',
  }),
  max_parallel_agents: key(z.unknown(), {
    kind: 'count',
    meaning: 'Short for `execution_engine.max_parallel_agents`.',
    trust: { tighten: 'max' },
  }),
  execution_engine: key(z.unknown(), {
    kind: 'section',
    meaning: 'As in configuration, for this plan; may only tighten.',
    trust: 'free',
  }),
  types: key(z.unknown(), { kind: 'section', meaning: 'As in configuration, for this plan.', trust: 'free' }),
  config: key(z.unknown(), {
    kind: 'section',
    meaning: 'Any other section of configuration, for this plan; may only tighten.',
    trust: 'free',
  }),
  defaults: key(z.unknown(), {
    kind: 'section',
    meaning: 'Task keys for all tasks that neither say otherwise nor have a type that does.',
    trust: 'free',
  }),
  tasks: z.array(z.unknown()).optional(),
});

export type TaskSettings = z.output<typeof taskSchema>;
export type PlanSettings = z.output<typeof planSchema>;
