/** Where a task stands. `blocked` waits on a dependency that can no longer be met; `ended` has an outcome. */
export const TASK_STATES = ['queued', 'active', 'blocked', 'ended'] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const ATTEMPT_STATES = ['preparing', 'running', 'settling', 'ended'] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];
