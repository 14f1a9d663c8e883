export { decide } from './decide.ts';
export { type EstimateFacts, estimateMemory } from './estimate.ts';
export { AGING_MS_PER_CLASS, AGING_MS_PER_POINT } from './order.ts';
export type {
  Action,
  ActiveAttempt,
  Decision,
  DependencyState,
  QueuedTask,
  Resources,
  SchedulerState,
} from './types.ts';
