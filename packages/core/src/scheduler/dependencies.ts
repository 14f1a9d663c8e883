import { outcomeRule } from '../tasks/outcomes.ts';
import { bySubmission } from './order.ts';
import type { DependencyState, QueuedTask } from './types.ts';

/** What dependencies say about a task: it can go, it waits, or it never can. */
export type Verdict = { kind: 'met' } | { kind: 'waits' | 'blocked'; reason: string };

const MET: Verdict = { kind: 'met' };

/** How many dependencies a sentence names before it counts the rest. */
const NAMED = 3;

/**
 * Verdicts for all queued tasks, in their order. Fails closed: a dependency that ended without success, or can never start
 * itself, blocks whatever depends on it, however far away, with the cause at the root.
 */
export function dependencyVerdicts(queued: readonly QueuedTask[]): Verdict[] {
  const causes = rootCauses(queued);
  return queued.map((task) => verdict(task, causes));
}

function verdict(task: QueuedTask, causes: ReadonlyMap<string, string>): Verdict {
  if (task.dependencies.length === 0) return MET;
  const cause = causes.size === 0 ? undefined : causes.get(task.ref);
  if (cause !== undefined) return { kind: 'blocked', reason: `blocked: ${cause}` };
  const open = task.dependencies.filter((dependency) => dependency.state !== 'ended');
  return open.length === 0 ? MET : { kind: 'waits', reason: `waits for ${nameOpen(open)}` };
}

/** Tasks that can never start, with why: from each cause along the edges to all that depend on it. */
function rootCauses(queued: readonly QueuedTask[]): ReadonlyMap<string, string> {
  if (queued.every((task) => firstCause(task.dependencies) === null)) return new Map();
  // Of several causes, which one is told must not depend on the order in which the queue was given.
  const ordered = [...queued].sort(bySubmission);
  const causes = new Map<string, string>();
  for (const task of ordered) {
    const cause = firstCause(task.dependencies);
    if (cause !== null) causes.set(task.ref, cause);
  }
  spread(causes, dependentsOf(ordered));
  return causes;
}

function dependentsOf(queued: readonly QueuedTask[]): Map<string, string[]> {
  const dependents = new Map<string, string[]>();
  for (const task of queued) {
    for (const { ref } of task.dependencies) {
      const known = dependents.get(ref);
      if (known) known.push(task.ref);
      else dependents.set(ref, [task.ref]);
    }
  }
  return dependents;
}

/** What is set while a map is walked is walked too: this goes on until nothing more depends on a cause. */
function spread(causes: Map<string, string>, dependents: ReadonlyMap<string, readonly string[]>): void {
  for (const [ref, cause] of causes) {
    for (const dependent of dependents.get(ref) ?? []) if (!causes.has(dependent)) causes.set(dependent, cause);
  }
}

function firstCause(dependencies: readonly DependencyState[]): string | null {
  for (const dependency of dependencies) {
    const cause = ownCause(dependency);
    if (cause !== null) return cause;
  }
  return null;
}

/** Why this dependency can never be met; null when it is or may yet be. */
function ownCause({ ref, state, outcome, reason }: DependencyState): string | null {
  switch (state) {
    case 'ended':
      if (outcome != null && outcomeRule(outcome).success) return null;
      return outcome == null ? `\`${ref}\` ended without an outcome` : `\`${ref}\` ended as ${outcome}`;
    case 'blocked':
      return reason === undefined ? `\`${ref}\` is blocked` : reason.replace(/^blocked: /, '');
    case 'missing':
      return `\`${ref}\` is not there any more`;
    default:
      return null;
  }
}

function nameOpen(open: readonly DependencyState[]): string {
  const named = open.slice(0, NAMED).map(({ ref, state }) => `\`${ref}\` (${state})`);
  const more = open.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}
