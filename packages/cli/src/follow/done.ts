import type { TaskView } from '@drover/core/client';
import { outcomeRule } from '@drover/core/outcomes';

/** True when nothing more happens to it by itself. */
export function isSettled(task: TaskView): boolean {
  return task.state === 'ended' || task.state === 'blocked';
}

/** True when it ended and its commits are the result. */
export function isSuccess(task: TaskView): boolean {
  return task.state === 'ended' && task.outcome !== null && outcomeRule(task.outcome).success;
}
