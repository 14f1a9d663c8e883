import type { AgentReport, AgentVerdict, ExitFacts } from './types.ts';

/** Everything a verdict is made from. */
export interface Evidence {
  report: AgentReport;
  exit: ExitFacts;
}

/** One row of a decision table. The first that applies decides. */
export interface VerdictRow {
  readonly name: string;
  readonly when: (evidence: Evidence) => boolean;
  readonly verdict: (evidence: Evidence) => AgentVerdict;
}

const saidOk = ({ report }: Evidence) => report.terminal?.ok === true;

/** Ends that somebody else decided on. The same for every agent. */
export const CAUSE_ROWS: readonly VerdictRow[] = [
  {
    name: 'stopped by a person',
    when: ({ exit }) => exit.cause === 'stop',
    verdict: () => ({ outcome: 'cancelled', detail: 'It was stopped.' }),
  },
  {
    name: 'finished, then ended from outside',
    when: (e) => saidOk(e) && ['lingered', 'timeout_wall', 'timeout_idle', 'init_lost'].includes(e.exit.cause),
    verdict: ({ report }) => ({
      outcome: 'ok_lingered',
      detail: `${report.terminal!.detail} It did not exit by itself.`,
    }),
  },
  {
    name: 'wall-clock limit',
    when: ({ exit }) => exit.cause === 'timeout_wall',
    verdict: (e) => ({ outcome: 'timeout_wall', detail: `It was ended at its wall-clock limit.${lastSeen(e)}` }),
  },
  {
    name: 'idle limit',
    when: ({ exit }) => exit.cause === 'timeout_idle',
    verdict: (e) => ({ outcome: 'timeout_idle', detail: `It did nothing for too long.${lastSeen(e)}` }),
  },
  {
    name: 'sandbox lost',
    when: ({ exit }) => exit.cause === 'init_lost',
    verdict: () => ({ outcome: 'keeper_lost', detail: 'The sandbox ended before the agent did.' }),
  },
];

/** Runs a table. Its last row must apply always. */
export function decide(rows: readonly VerdictRow[], report: AgentReport, exit: ExitFacts): AgentVerdict {
  const evidence = { report, exit };
  const row = rows.find((one) => one.when(evidence));
  return row!.verdict(evidence);
}

/** How a process ended, in words. */
export function exitWords({ code, signal }: ExitFacts): string {
  if (signal !== null) return `It was killed by signal ${signal}.`;
  return `It exited with code ${code}.`;
}

function lastSeen({ report }: Evidence): string {
  return report.activity ? ` Last seen: ${report.activity}.` : '';
}
