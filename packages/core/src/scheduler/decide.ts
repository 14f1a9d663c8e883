import { openBudget, POLICIES, type PolicyContext, take } from './admission.ts';
import { dependencyVerdicts } from './dependencies.ts';
import { inOrder } from './order.ts';
import type { Action, Decision, QueuedTask, Resources, SchedulerState } from './types.ts';

/**
 * What to do now. Pure: the same state, time and resources give the same decision, and deciding again after it was carried out
 * gives nothing new. Every queued task is started, blocked, or has a reason to wait.
 */
export function decide(state: SchedulerState, now: number, resources: Resources): Decision {
  const verdicts = dependencyVerdicts(state.queued);
  const context: PolicyContext = { state, budget: openBudget(state, resources), now };
  const blocks: Action[] = [];
  const starts: Action[] = [];
  const reasons = new Map<string, string>();
  for (const task of inOrder(state.queued, now)) {
    const verdict = verdicts.get(task.ref)!;
    const reason = verdict.kind === 'met' ? reasonToWait(task, context) : verdict.reason;
    if (verdict.kind === 'blocked') blocks.push({ kind: 'block', ref: task.ref, reason: verdict.reason });
    if (reason !== null) {
      reasons.set(task.ref, reason);
      continue;
    }
    take(context.budget, task);
    starts.push({ kind: 'start', ref: task.ref });
  }
  return { actions: [...blocks, ...starts], reasons };
}

function reasonToWait(task: QueuedTask, context: PolicyContext): string | null {
  for (const policy of POLICIES) {
    const reason = policy(task, context);
    if (reason !== null) return reason;
  }
  return null;
}
