import type { AgentReport, AgentVerdict, ExitFacts } from '../types.ts';
import { CAUSE_ROWS, decide, exitWords, type VerdictRow } from '../verdict.ts';

/** Success is the terminal event without error and exit 0. Each that is missing is named. */
const ROWS: readonly VerdictRow[] = [
  ...CAUSE_ROWS,
  {
    name: 'said how it failed',
    when: ({ report }) => report.terminal?.ok === false,
    verdict: ({ report }) => ({
      outcome: report.terminal!.outcome ?? 'agent_error',
      detail: report.terminal!.detail,
    }),
  },
  {
    name: 'done, but exited with a failure',
    when: ({ report, exit }) => report.terminal !== undefined && exit.code !== 0,
    verdict: ({ exit }) => ({
      outcome: 'agent_error',
      detail: `It said that it had finished, but ${lower(exitWords(exit))}`,
    }),
  },
  {
    name: 'ok',
    when: ({ report }) => report.terminal !== undefined,
    verdict: ({ report }) => ({ outcome: 'ok', detail: report.terminal!.detail }),
  },
  {
    name: 'no result',
    when: () => true,
    verdict: ({ report, exit }) => ({
      outcome: 'no_result',
      detail: [
        `${exitWords(exit)} It never said that it had finished.`,
        ...report.notes.map((note) => `${capital(note)}.`),
      ].join(' '),
    }),
  },
];

/** Claude Code's own part of the verdict. */
export function judgeClaude(report: AgentReport, exit: ExitFacts): AgentVerdict {
  return decide(ROWS, report, exit);
}

function capital(note: string): string {
  return note.charAt(0).toUpperCase() + note.slice(1);
}

function lower(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
