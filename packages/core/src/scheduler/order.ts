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

interface Rank {
  task: QueuedTask;
  /** 0 comes first. */
  classIndex: number;
  priority: number;
}

/** The queue in the order in which it is to be served. Total: two orders of the same tasks give the same queue. */
export function inOrder(queued: readonly QueuedTask[], now: number): QueuedTask[] {
  const ranks = queued.map((task) => rank(task, now));
  return ranks.sort(compare).map(({ task }) => task);
}

function rank(task: QueuedTask, now: number): Rank {
  const waited = Math.max(0, now - task.submittedMs);
  const plain = task.strategy === 'fifo';
  const classIndex = TASK_CLASSES.indexOf(plain ? FIFO_CLASS : task.class);
  const priority = plain ? FIFO_PRIORITY : task.priority;
  return {
    task,
    classIndex: Math.max(0, classIndex - Math.floor(waited / AGING_MS_PER_CLASS)),
    priority: priority + waited / AGING_MS_PER_POINT,
  };
}

function compare(a: Rank, b: Rank): number {
  return (
    a.classIndex - b.classIndex ||
    b.priority - a.priority ||
    a.task.submittedMs - b.task.submittedMs ||
    a.task.sequence - b.task.sequence ||
    (a.task.ref < b.task.ref ? -1 : 1)
  );
}
