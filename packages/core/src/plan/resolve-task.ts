import {
  type AdapterInfo,
  checkSource,
  flagsSource,
  type Issue,
  issueAt,
  type LoadedConfig,
  throwIssues,
} from '../config/index.ts';
import type { TaskDefinition } from '../tasks/definition.ts';
import type { MachineFacts } from './choose-limits.ts';
import { PLAIN_TYPE } from './choose-work.ts';
import type { Level } from './level.ts';
import { taskSchema } from './plan-schema.ts';
import { resolveWork } from './resolve-work.ts';
import { typeLevel } from './type-level.ts';

const CODE = 'task_invalid';

export interface ResolveTaskInput {
  /** Keys of a plan's task; dotted ones (`limits.memory`) are good too. */
  task: Readonly<Record<string, unknown>>;
  /** For a task that brings no id of its own. */
  id?: string;
  config: LoadedConfig;
  adapters: readonly AdapterInfo[];
  machine?: MachineFacts | undefined;
  /** What a key is called where it came from, for messages: `limits.memory` is `--memory`. */
  label?: (key: string) => string;
  /** Is it the user's own word, which may loosen? So it is unless said otherwise, as for a task that an agent asks for. */
  trusted?: boolean;
}

/** One task without a plan, by the rules of a plan's tasks. Throws {@link ConfigError}. */
export function resolveTask(input: ResolveTaskInput): TaskDefinition {
  const { task, id, config, adapters, machine, label, trusted = true } = input;
  const issues: Issue[] = [];
  const source = flagsSource(task, label);
  const settings = checkSource(taskSchema, source, CODE, issues);
  const chosen = settings?.id ?? id;
  if (settings && chosen === undefined) issues.push(issueAt(source, ['id'], CODE, 'the task has no id'));
  let resolved: TaskDefinition | null = null;
  if (settings && chosen !== undefined) {
    const { id: _, type: ownType, depends_on, base, ...own } = settings;
    const type = ownType ?? PLAIN_TYPE;
    const level: Level = { title: `task \`${chosen}\``, kind: 'task', settings: own, trusted, source, path: [] };
    const levels = [level, typeLevel(config, type)].filter((candidate) => candidate !== null);
    const dependsOn = depends_on ?? [];
    const whole = { id: chosen, type, dependsOn, base, levels, loaded: config, ceiling: config, adapters, machine };
    resolved = resolveWork(whole, issues);
  }
  throwIssues(
    CODE,
    issues.map((issue) => (issue.code === 'plan_invalid' ? { ...issue, code: CODE } : issue)),
  );
  if (resolved === null) throw new Error('a task that cannot be resolved has an issue');
  return resolved;
}
