import { PRIORITIES, TASK_CLASSES } from '../tasks/definition.ts';
import type { QueuedTask } from './types.ts';

const MINUTE_MS = 60_000;

/** A waiting task gains one point of priority in this time: from `low` to `medium` in ten minutes. */
export const AGING_MS_PER_POINT = (10 * MINUTE_MS) / (PRIORITIES.medium - PRIORITIES.low);

/** A waiting task moves up one class in this time, so that a stream of urgent tasks never starves the others. */
export const AGING_MS_PER_CLASS = 60 * MINUTE_MS;

/** Class and priority of the tasks of `fifo` plans among those of others. */
const FIFO_CLASS = 'batch';
const FIFO_PRIORITY = PRIORITIES.medium;

/** The queue in the order in which it is to be served. Total: two orders of the same tasks give the same queue. */
export function inOrder(queued: readonly QueuedTask[], now: number): QueuedTask[] {
  const ranks = queued.map((task) => rank(task, now));
  const places = queued.map((_, index) => index);
  places.sort((a, b) => ranks[a]! - ranks[b]! || bySubmission(queued[a]!, queued[b]!));
  return places.map((place) => queued[place]!);
}

/** More than any priority gains by age in all the years that a queue may live. */
const CLASS_STEP = 1e9;

/** Class and aged priority in one number, lower comes first: sorting ten thousand tasks is most of what a decision costs. */
function rank(task: QueuedTask, now: number): number {
  const waited = Math.max(0, now - task.submittedMs);
  const plain = task.strategy === 'fifo';
  const classIndex = TASK_CLASSES.indexOf(plain ? FIFO_CLASS : task.class);
  const priority = plain ? FIFO_PRIORITY : task.priority;
  const risen = Math.max(0, classIndex - Math.floor(waited / AGING_MS_PER_CLASS));
  return risen * CLASS_STEP - (priority + waited / AGING_MS_PER_POINT);
}

/** The earlier submission first. */
export function bySubmission(a: QueuedTask, b: QueuedTask): number {
  return a.submittedMs - b.submittedMs || a.sequence - b.sequence || (a.ref < b.ref ? -1 : 1);
}
