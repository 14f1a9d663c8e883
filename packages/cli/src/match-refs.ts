import { basename } from 'node:path';
import { DroverError, type TaskView } from '@drover/core/client';
import { isSettled } from './follow/done.ts';

/**
 * The tasks that `PLAN/`, `PLAN/TASK` or `TASK` name, each once, in the order of `tasks`; `REPOSITORY:` before it says in which.
 * A task alone is looked for among open ones first. Throws `no_such_task`, `no_such_plan` or `ambiguous_ref`.
 */
export function matchRefs(tasks: readonly TaskView[], refs: readonly string[]): TaskView[] {
  const chosen = new Set(refs.flatMap((ref) => matchOne(tasks, ref)));
  return tasks.filter((task) => chosen.has(task));
}

function matchOne(all: readonly TaskView[], whole: string): TaskView[] {
  const at = whole.indexOf(':');
  const ref = whole.slice(at + 1);
  const tasks = at < 0 ? all : all.filter((task) => isIn(task, whole.slice(0, at)));
  if (ref.endsWith('/')) return ofPlan(tasks, ref.slice(0, -1));
  if (ref.includes('/'))
    return exactly(
      tasks.filter((task) => task.ref === ref),
      whole,
    );
  const named = tasks.filter((task) => task.task === ref);
  const open = named.filter((task) => !isSettled(task));
  return exactly(open.length > 0 ? open : named, whole);
}

function isIn(task: TaskView, repository: string): boolean {
  return task.repository === repository || basename(task.repository) === repository;
}

function ofPlan(tasks: readonly TaskView[], plan: string): TaskView[] {
  const found = tasks.filter((task) => task.plan === plan);
  if (found.length > 0) return found;
  throw new DroverError('no_such_plan', `There is no plan '${plan}'.`, 'See: drover ls --all');
}

function exactly(found: TaskView[], ref: string): TaskView[] {
  if (found.length === 1) return found;
  if (found.length === 0) throw new DroverError('no_such_task', `There is no task '${ref}'.`, 'See: drover ls --all');
  const names = found.map((task) => `${basename(task.repository)}:${task.ref}`).join(', ');
  throw new DroverError('ambiguous_ref', `'${ref}' could be ${names}`, 'Name it as REPOSITORY:PLAN/TASK.');
}
