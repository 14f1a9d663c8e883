import type { AgentVerdict } from '../agents/types.ts';
import type { Outcome } from '../tasks/outcomes.ts';

/** Everything that is known of an attempt when its agent has ended. */
export interface Evidence {
  /** Why the engine stopped it; null: it ended by itself. */
  stopCause: 'cancelled' | 'timeout_idle' | 'lingered' | 'pids' | null;
  /** The keeper's exit record says so. `lost`: keeper and record are gone. */
  cause: 'exit' | 'stop' | 'timeout_wall' | 'init_lost' | 'lost';
  /** The agent's program failed: a non-zero code or a signal. */
  failed: boolean;
  oomKills: number;
  oomPolicy: 'kill' | 'tolerate';
  memoryLimitBytes: number | undefined;
  pidsMaxHits: number;
  pidsLimit: number | undefined;
  agent: AgentVerdict;
  expects: 'changes' | 'none';
  /** Commits or changes against the base; null: it could not be found out. */
  changed: boolean | null;
  /** Why commits could not be taken over; null: they were. */
  takeOverError: string | null;
  /** null: none asked for, or not reached. */
  verify: { ok: boolean; detail: string } | null;
}

export interface Verdict {
  outcome: Outcome;
  reason: string;
}

type Rule = (e: Evidence) => Verdict | null;

const verdict = (outcome: Outcome, reason: string): Verdict => ({ outcome, reason });

/**
 * In order of strength: what was done to the agent, what the kernel did to it, what it says itself, what git shows,
 * what `verify` says. The first rule that speaks decides; when all are silent it is a success.
 */
const RULES: readonly Rule[] = [
  (e) => (e.stopCause === 'cancelled' ? verdict('cancelled', 'stopped on request') : null),
  (e) =>
    e.oomKills > 0 && e.oomPolicy === 'kill'
      ? verdict('oom_killed', `the kernel killed it at its memory limit${bytes(e.memoryLimitBytes)}`)
      : null,
  (e) =>
    e.stopCause === 'pids' || (e.pidsMaxHits > 0 && e.failed)
      ? verdict('pids_exhausted', `it ran into its limit of ${e.pidsLimit ?? '?'} processes ${e.pidsMaxHits} times`)
      : null,
  (e) => (e.cause === 'timeout_wall' ? verdict('timeout_wall', 'it reached its wall-clock limit') : null),
  (e) => (e.stopCause === 'timeout_idle' ? verdict('timeout_idle', 'no output and no CPU use for too long') : null),
  (e) => (e.cause === 'lost' ? verdict('keeper_lost', 'its keeper is gone and left no exit record') : null),
  (e) =>
    e.cause === 'init_lost' && !e.agent.outcome.startsWith('ok')
      ? verdict('keeper_lost', 'its sandbox was ended from outside')
      : null,
  (e) =>
    e.agent.outcome !== 'ok' && e.agent.outcome !== 'ok_lingered' ? verdict(e.agent.outcome, e.agent.detail) : null,
  (e) =>
    e.takeOverError !== null
      ? verdict('sandbox_failed', `its commits could not be taken over: ${e.takeOverError}`)
      : null,
  (e) =>
    e.expects === 'changes' && e.changed === false
      ? verdict('no_changes', 'it finished without a commit or a change, and the task expects changes')
      : null,
  (e) => (e.verify && !e.verify.ok ? verdict('verify_failed', e.verify.detail) : null),
];

/** The outcome of an attempt and why, from all its evidence. */
export function judgeAttempt(evidence: Evidence): Verdict {
  for (const rule of RULES) {
    const decided = rule(evidence);
    if (decided) return decided;
  }
  return verdict(
    evidence.agent.outcome,
    evidence.verify ? `${evidence.agent.detail.replace(/\.$/, '')}; ${evidence.verify.detail}` : evidence.agent.detail,
  );
}

function bytes(limit: number | undefined): string {
  return limit === undefined ? '' : ` of ${Math.round(limit / 1024 ** 2)} MiB`;
}
