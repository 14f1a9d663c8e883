import type { TaskView } from '@drover/core/client';
import { outcomeRule } from '@drover/core/outcomes';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { FINAL } from '../task-columns.ts';
import { cleanLine } from '../term/sanitize.ts';
import { table } from '../term/table.ts';
import { isSettled, isSuccess } from './done.ts';

/** The final table, and for each task without success why and what can be done. Gives the exit code. */
export async function finalReport(tasks: TaskView[], out: Output): Promise<number> {
  if (tasks.length > 0) out.lines(await table(FINAL, tasks, { width: out.width, style: out.style }));
  const failed = tasks.filter((task) => isSettled(task) && !isSuccess(task));
  for (const task of failed) {
    out.line();
    out.line(`${out.style('red', cleanLine(task.ref))}: ${cleanLine(task.reason)}`);
    const advice = task.outcome === null ? '' : outcomeRule(task.outcome).advice;
    if (advice && !task.reason.includes(advice)) out.line(`  ${advice.replaceAll('TASK', cleanLine(task.ref))}`);
  }
  return exitOf(tasks);
}

/** 0 when all of these succeeded. */
export function exitOf(tasks: readonly TaskView[]): number {
  return tasks.every(isSuccess) ? EXIT_CODES.ok.code : EXIT_CODES.failed.code;
}
