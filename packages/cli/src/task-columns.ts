import type { TaskView } from '@drover/core/client';
import { outcomeRule } from '@drover/core/outcomes';
import { bytes, duration, orDash } from './format.ts';
import type { StyleName } from './term/style.ts';
import type { Column } from './term/table.ts';

/** How a task stands, in one word. */
export function stateWord(task: TaskView): string {
  if (task.state === 'ended') return task.outcome ?? 'ended';
  if (task.state === 'active') return task.attemptState ?? 'active';
  return task.state;
}

/** Green for success, red for an end without it, yellow for what waits on a person. */
export function stateStyle(task: TaskView): StyleName | undefined {
  if (task.state === 'ended') return task.outcome && outcomeRule(task.outcome).success ? 'green' : 'red';
  if (task.state === 'blocked') return 'yellow';
  return task.state === 'active' ? 'cyan' : 'dim';
}

/** `1.2 GiB / 4.0 GiB`. */
function memory(task: TaskView): string {
  if (task.memoryBytes === null) return '-';
  const limit = task.memoryLimitBytes === null ? '' : ` / ${bytes(task.memoryLimitBytes)}`;
  return bytes(task.memoryBytes) + limit;
}

/** Why it waits or ended; while it runs, what it does. */
function detail(task: TaskView): string {
  return task.state === 'active' ? orDash(task.activity) : task.reason;
}

const name: Column<TaskView> = { title: 'task', value: (t) => t.ref, shrink: 3, min: 12 };
const state: Column<TaskView> = { title: 'state', value: stateWord, style: stateStyle };
const time: Column<TaskView> = {
  title: 'time',
  value: (t) => (t.startedMs === null ? '-' : duration(t.elapsedMs)),
  align: 'right',
};
const cpu: Column<TaskView> = { title: 'cpu', value: (t) => duration(t.cpuMs), align: 'right' };

/** Tasks under way: `ls`, `status` and the live view. */
export const CURRENT: ReadonlyArray<Column<TaskView>> = [
  name,
  { title: 'agent', value: (t) => t.agent, shrink: 2, min: 6 },
  state,
  time,
  { title: 'memory', value: memory, align: 'right' },
  cpu,
  { title: 'detail', value: detail, shrink: 1, min: 10 },
];

/** Tasks that have ended: the last word of `run` and `wait`. */
export const FINAL: ReadonlyArray<Column<TaskView>> = [
  name,
  { ...state, title: 'outcome' },
  time,
  { title: 'peak mem', value: (t) => bytes(t.memoryPeakBytes), align: 'right' },
  cpu,
  { title: 'commits', value: (t) => orDash(t.commits), align: 'right' },
  { title: 'branch', value: (t) => orDash(t.branch), shrink: 1, min: 12 },
];
