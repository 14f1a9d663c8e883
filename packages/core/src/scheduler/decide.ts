import { openBudget, POLICIES, type PolicyContext, take } from './admission.ts';
import { dependencyVerdicts } from './dependencies.ts';
import { bySubmission, inOrder } from './order.ts';
import type { Action, Decision, QueuedTask, Resources, SchedulerState } from './types.ts';

/**
 * What to do now. Pure: the same state, time and resources give the same decision, and deciding again after it was carried out
 * gives nothing new. Every queued task is started, blocked, or has a reason to wait.
 */
export function decide(state: SchedulerState, now: number, resources: Resources): Decision {
  const reasons = new Map<string, string>();
  const { blocked, ready } = sortOut(state.queued, reasons);
  const context: PolicyContext = { state, budget: openBudget(state, resources), now };
  const starts: Action[] = [];
  for (const task of inOrder(ready, now)) {
    const reason = reasonToWait(task, context);
    if (reason !== null) {
      reasons.set(task.ref, reason);
      continue;
    }
    take(context.budget, task);
    starts.push({ kind: 'start', ref: task.ref });
  }
  const blocks = blocked
    .sort(bySubmission)
    .map(({ ref }): Action => ({ kind: 'block', ref, reason: reasons.get(ref)! }));
  return { actions: [...blocks, ...starts], reasons };
}

/** Tells those that can never start, and those that could now, from those that wait for others. */
function sortOut(queued: readonly QueuedTask[], reasons: Map<string, string>) {
  const blocked: QueuedTask[] = [];
  const ready: QueuedTask[] = [];
  dependencyVerdicts(queued).forEach((verdict, index) => {
    const task = queued[index]!;
    if (verdict.kind === 'met') ready.push(task);
    else reasons.set(task.ref, verdict.reason);
    if (verdict.kind === 'blocked') blocked.push(task);
  });
  return { blocked, ready };
}

function reasonToWait(task: QueuedTask, context: PolicyContext): string | null {
  for (const policy of POLICIES) {
    const reason = policy(task, context);
    if (reason !== null) return reason;
  }
  return null;
}
