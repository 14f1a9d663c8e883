import { formatBytes } from '../shared/units.ts';
import type { ActiveAttempt, QueuedTask, Resources, SchedulerState } from './types.ts';

/** What is left to give while one decision is made: each start takes from it. */
export interface Budget {
  running: number;
  runningByPlan: Map<string, number>;
  memoryBytes: number;
  /** The task that waits for memory; those behind it must not take what it waits for. */
  firstInLine?: string;
}

/** What is left before anything is started. */
export function openBudget(state: SchedulerState, resources: Resources): Budget {
  const runningByPlan = new Map<string, number>();
  for (const { plan } of state.active) runningByPlan.set(plan, (runningByPlan.get(plan) ?? 0) + 1);
  const promised = state.active.reduce((sum, attempt) => sum + stillToCome(attempt), 0);
  const memoryBytes = resources.memoryAvailableBytes - resources.memoryHeadroomBytes - promised;
  return { running: state.active.length, runningByPlan, memoryBytes };
}

/** Memory that an attempt was started for and does not use yet: the machine still counts it as available. */
function stillToCome({ memoryEstimateBytes, memoryBytes = 0 }: ActiveAttempt): number {
  return Math.max(0, memoryEstimateBytes - memoryBytes);
}

/** Takes a slot and memory for a task. */
export function take(budget: Budget, task: QueuedTask): void {
  budget.running += 1;
  budget.runningByPlan.set(task.plan, (budget.runningByPlan.get(task.plan) ?? 0) + 1);
  budget.memoryBytes -= task.memoryEstimateBytes;
}

/** A reason to wait, or null. The first that applies is the one that is told. */
export type Policy = (task: QueuedTask, context: PolicyContext) => string | null;

export interface PolicyContext {
  state: SchedulerState;
  budget: Budget;
  now: number;
}

const notBefore: Policy = (task, { now }) => {
  const wait = task.notBefore;
  if (wait === undefined || wait.atMs <= now) return null;
  return `waits until ${new Date(wait.atMs).toISOString()}: ${wait.why}`;
};

const planSlots: Policy = (task, { state, budget }) => {
  const max = state.planMax.get(task.plan) ?? state.maxParallelAgents;
  const running = budget.runningByPlan.get(task.plan) ?? 0;
  return running < max ? null : `waits for a slot: plan \`${task.plan}\` runs ${running} of at most ${max}`;
};

const fleetSlots: Policy = (_, { state, budget }) =>
  budget.running < state.maxParallelAgents
    ? null
    : `waits for a slot: ${budget.running} of at most ${state.maxParallelAgents} agents run`;

/**
 * Memory in the order of the queue: who waits for memory is not overtaken, or a stream of small tasks would starve a large one.
 * When nothing runs, the first starts whatever its estimate: there is nothing to wait for.
 */
const memory: Policy = (task, { budget }) => {
  if (budget.running === 0) return null;
  if (budget.firstInLine !== undefined) return `waits behind \`${budget.firstInLine}\`, which waits for memory`;
  if (task.memoryEstimateBytes <= budget.memoryBytes) return null;
  budget.firstInLine = task.ref;
  const available = formatBytes(Math.max(0, budget.memoryBytes));
  return `waits: memory estimate ${formatBytes(task.memoryEstimateBytes)}, available ${available}`;
};

/** In the order in which they are asked. */
export const POLICIES: readonly Policy[] = [notBefore, planSlots, fleetSlots, memory];
