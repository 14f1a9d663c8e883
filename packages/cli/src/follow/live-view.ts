import type { TaskView } from '@drover/core/client';
import type { Output } from '../output.ts';
import { CURRENT } from '../task-columns.ts';
import { LiveRegion } from '../term/live-region.ts';
import { cleanLine } from '../term/sanitize.ts';
import { table } from '../term/table.ts';
import { truncate } from '../term/width.ts';
import { isSettled, isSuccess } from './done.ts';
import type { View } from './follow.ts';

const REFRESH_MS = 1000;
/** Lines beside the tasks: header, summary, and one so that the terminal need not scroll. */
const FRAME_LINES = 4;

/** The table of tasks, redrawn in place. Warnings stay above it. */
export function liveView(out: Output): View {
  const region = new LiveRegion(out.stdout);
  let closed = false;
  return {
    refreshMs: REFRESH_MS,
    event(event) {
      if (event.kind !== 'warning') return;
      region.print([truncate(out.style('yellow', `warning: ${cleanLine(event.text)}`), out.width ?? 80)]);
    },
    async tasks(tasks) {
      const lines = await frame(tasks, out);
      if (!closed) region.draw(lines);
    },
    close() {
      closed = true;
      region.close();
    },
  };
}

/** Header, the tasks that fit (under way first), and a line that counts all. */
async function frame(tasks: TaskView[], out: Output): Promise<string[]> {
  const room = Math.max(1, out.height - FRAME_LINES);
  const shown = tasks.length <= room ? tasks : [...tasks].sort((a, b) => weight(a) - weight(b)).slice(0, room);
  const lines = await table(CURRENT, shown, { width: out.width, style: out.style });
  return [...lines, out.style('dim', truncate(summary(tasks, shown.length), out.width ?? 80))];
}

const WEIGHT = { active: 0, queued: 1, blocked: 2, ended: 3 } as const;
const weight = (task: TaskView) => WEIGHT[task.state];

/** `3 of 7 done, 2 running, 1 failed`. */
function summary(tasks: TaskView[], shown: number): string {
  const done = tasks.filter(isSettled).length;
  const active = tasks.filter((t) => t.state === 'active').length;
  const failed = tasks.filter((t) => isSettled(t) && !isSuccess(t)).length;
  const parts = [`${done} of ${tasks.length} done`, `${active} active`];
  if (failed > 0) parts.push(`${failed} not ok`);
  if (shown < tasks.length) parts.push(`${tasks.length - shown} more not shown`);
  return `${parts.join(', ')}  (Ctrl-C leaves; agents go on)`;
}
