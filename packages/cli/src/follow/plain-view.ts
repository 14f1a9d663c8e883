import { clockTime } from '../format.ts';
import type { Output } from '../output.ts';
import { cleanLine } from '../term/sanitize.ts';
import type { View } from './follow.ts';

/** One line an event: for logs, pipes and dumb terminals. */
export function plainView(out: Output): View {
  return {
    event(event) {
      // The end of the task says the same in the next line.
      if (event.kind === 'attempt_ended' && event.data?.again === false) return;
      out.line(`${clockTime(event.atMs)}  ${cleanLine(`${event.ref ?? event.plan ?? 'drover'}  ${event.text}`)}`);
    },
    tasks: () => {},
    close: () => {},
  };
}

/** One JSON line an event. */
export function jsonView(out: Output): View {
  return { event: (event) => out.record({ event }), tasks: () => {}, close: () => {} };
}

/** Shows nothing. */
export const silentView: View = { event: () => {}, tasks: () => {}, close: () => {} };
