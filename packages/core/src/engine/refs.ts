import { DroverError } from '../shared/errors.ts';
import type { Plan, Store, TaskWithPlan } from '../store/index.ts';

/** `plan/task` of a task. */
export function refOf(task: TaskWithPlan): string {
  return `${task.plan_name}/${task.name}`;
}

/**
 * The task that a person means: `plan/task` or `task`, with `REPOSITORY:` before it where that is not enough. Tasks of plans
 * that have not ended come first. Throws `no_such_task` or `ambiguous_ref`.
 */
export function findTask(store: Store, ref: string): TaskWithPlan {
  const { repository, rest } = split(ref);
  const matches = (task: TaskWithPlan) =>
    (refOf(task) === rest || task.name === rest) &&
    (repository === null || nameOf(store, task.repository) === repository);
  const open = store.tasks().filter(matches);
  const found = open.length > 0 ? open : store.tasks({ all: true }).filter(matches);
  const exact = found.filter((task) => refOf(task) === rest);
  const candidates = exact.length > 0 ? exact : found;
  if (candidates.length === 1) return candidates[0]!;
  if (candidates.length === 0) {
    throw new DroverError('no_such_task', `there is no task '${ref}'`, 'See `drover ls --all` for those there are.');
  }
  const names = candidates.slice(0, 5).map((task) => `${nameOf(store, task.repository)}:${refOf(task)}`);
  throw new DroverError('ambiguous_ref', `'${ref}' could be ${names.join(' or ')}`, 'Give it as REPOSITORY:PLAN/TASK.');
}

/** Like {@link findTask} for several; `plan/` stands for all tasks of a plan. */
export function findTasks(store: Store, refs: readonly string[]): TaskWithPlan[] {
  const found = new Map<number, TaskWithPlan>();
  for (const ref of refs) {
    const tasks = ref.endsWith('/') ? store.tasksOfPlan(findPlan(store, ref.slice(0, -1)).id) : [findTask(store, ref)];
    for (const task of tasks) found.set(task.id, task);
  }
  return [...found.values()];
}

function findPlan(store: Store, ref: string): Plan {
  const { repository, rest } = split(ref);
  const all = store
    .plans()
    .filter((plan) => plan.name === rest && (repository === null || nameOf(store, plan.repository) === repository));
  const open = all.filter((plan) => plan.ended_ms === null);
  const plans = open.length > 0 ? open : all;
  if (plans.length === 1) return plans[0]!;
  if (plans.length === 0) throw new DroverError('no_such_task', `there is no plan '${rest}'`, 'See `drover ls --all`.');
  const names = plans.map((plan) => `${nameOf(store, plan.repository)}:${plan.name}/`);
  throw new DroverError('ambiguous_ref', `'${ref}/' could be ${names.join(' or ')}`, 'Give it as REPOSITORY:PLAN/.');
}

function split(ref: string): { repository: string | null; rest: string } {
  const at = ref.indexOf(':');
  return at < 0 ? { repository: null, rest: ref } : { repository: ref.slice(0, at), rest: ref.slice(at + 1) };
}

function nameOf(store: Store, key: string): string {
  return store.repository(key)?.name ?? key;
}
