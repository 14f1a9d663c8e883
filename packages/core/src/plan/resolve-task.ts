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
}

/** One task without a plan, by the rules of a plan's tasks. It is the user's own word: it may loosen. Throws {@link ConfigError}. */
export function resolveTask({ task, id, config, adapters, machine, label }: ResolveTaskInput): TaskDefinition {
  const issues: Issue[] = [];
  const source = flagsSource(task, label);
  const settings = checkSource(taskSchema, source, CODE, issues);
  const chosen = settings?.id ?? id;
  if (settings && chosen === undefined) issues.push(issueAt(source, ['id'], CODE, 'the task has no id'));
  let resolved: TaskDefinition | null = null;
  if (settings && chosen !== undefined) {
    const { id: _, type: ownType, depends_on, base, ...own } = settings;
    const type = ownType ?? 'task';
    const level: Level = { title: `task \`${chosen}\``, kind: 'task', settings: own, trusted: true, source, path: [] };
    const levels = [level, typeLevel(config, type)].filter((candidate) => candidate !== null);
    const dependsOn = depends_on ?? [];
    const input = { id: chosen, type, dependsOn, base, levels, loaded: config, ceiling: config, adapters, machine };
    resolved = resolveWork(input, issues);
  }
  throwIssues(
    CODE,
    issues.map((issue) => (issue.code === 'plan_invalid' ? { ...issue, code: CODE } : issue)),
  );
  if (resolved === null) throw new Error('a task that cannot be resolved has an issue');
  return resolved;
}
