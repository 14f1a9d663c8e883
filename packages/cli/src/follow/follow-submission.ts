import type { EngineApi, Submitted } from '@drover/core/client';
import type { Context } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { cleanLine } from '../term/sanitize.ts';
import { exitOf, finalReport } from './final-report.ts';
import { follow } from './follow.ts';
import { liveView } from './live-view.ts';
import { jsonView, plainView } from './plain-view.ts';

/** The plan of tasks that were spawned by themselves: what is said of it as a whole concerns no single one. */
const SOLO = 'solo';

/**
 * Says what was submitted and, unless `detach`, follows it to its end. Ctrl-C leaves at once and stops nothing:
 * agents belong to the engine, not to this terminal.
 */
export async function followSubmission(
  api: EngineApi,
  submitted: Submitted,
  context: Context,
  detach: boolean,
): Promise<number> {
  const { out } = context;
  announce(submitted, context);
  const refs = submitted.tasks.map((task) => task.ref);
  if (detach) {
    out.document(submitted);
    out.line(`${what(submitted)} goes on in the background: drover wait ${what(submitted)}`);
    return EXIT_CODES.ok.code;
  }
  out.record({ submitted });
  const view = out.json ? jsonView(out) : out.live ? liveView(out) : plainView(out);
  const { plan, sinceEvent } = submitted;
  const own = plan === SOLO ? {} : { plan };
  const tasks = await follow(api, { refs, ...own, sinceEvent, signal: context.interrupted }, view);
  if (!tasks) {
    out.note(`\n${leaving(submitted)}`);
    return EXIT_CODES.interrupted.code;
  }
  out.record({ result: { ok: exitOf(tasks) === 0, tasks } });
  return await finalReport(tasks, out);
}

/** The first lines of every run: level and why, network, base, what is skipped. */
function announce(submitted: Submitted, { out }: Context): void {
  const { level, levelReason, plan, base, tasks, warnings } = submitted;
  const reason = cleanLine(levelReason.startsWith(level) ? levelReason : `${level}: ${levelReason}`);
  out.line(`${reason}. The network is the host's.`);
  const skipped = tasks.filter((task) => task.skipped).length;
  const also = skipped > 0 ? `, ${skipped} of them done already and unchanged` : '';
  const noun = tasks.length === 1 ? 'task' : 'tasks';
  out.line(`${cleanLine(plan)}: ${tasks.length} ${noun}${also}, from ${cleanLine(base).slice(0, 10)}`);
  for (const warning of warnings) out.line(out.style('yellow', `warning: ${cleanLine(warning)}`));
}

/** `plan/`, or the one task that was spawned. */
function what(submitted: Submitted): string {
  const [only] = submitted.tasks;
  return cleanLine(submitted.tasks.length === 1 && only ? only.ref : `${submitted.plan}/`);
}

function leaving(submitted: Submitted): string {
  const ref = what(submitted);
  return `Agents go on. To follow them: drover wait ${ref}   To stop them: drover stop ${ref}`;
}
