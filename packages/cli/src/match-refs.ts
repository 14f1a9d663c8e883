import { DroverError, type TaskView } from '@drover/core/client';
import { isSettled } from './follow/done.ts';

/**
 * The tasks that `PLAN/`, `PLAN/TASK` or `TASK` name, each once, in the order of `tasks`. A task alone is looked for among open ones first.
 * Throws `no_such_task` or `ambiguous_task`.
 */
export function matchRefs(tasks: readonly TaskView[], refs: readonly string[]): TaskView[] {
  const chosen = new Set(refs.flatMap((ref) => matchOne(tasks, ref)));
  return tasks.filter((task) => chosen.has(task));
}

function matchOne(tasks: readonly TaskView[], ref: string): TaskView[] {
  if (ref.endsWith('/')) {
    const found = tasks.filter((task) => task.plan === ref.slice(0, -1));
    if (found.length > 0) return found;
    throw new DroverError('no_such_plan', `There is no plan '${ref.slice(0, -1)}'.`, 'See: drover ls --all');
  }
  if (ref.includes('/'))
    return exactly(
      tasks.filter((task) => task.ref === ref),
      ref,
    );
  const named = tasks.filter((task) => task.task === ref);
  const open = named.filter((task) => !isSettled(task));
  return exactly(open.length > 0 ? open : named, ref);
}

function exactly(found: TaskView[], ref: string): TaskView[] {
  if (found.length === 1) return found;
  if (found.length === 0) throw new DroverError('no_such_task', `There is no task '${ref}'.`, 'See: drover ls --all');
  const names = found.map((task) => task.ref).join(', ');
  throw new DroverError('ambiguous_task', `'${ref}' is in more than one plan: ${names}`, 'Name it as PLAN/TASK.');
}
