export type { PlanDefinition, TaskDefinition } from '../tasks/definition.ts';
export type { MachineFacts } from './choose-limits.ts';
export { taskFingerprint } from './fingerprint.ts';
export { type LoadedPlan, type LoadPlanInput, loadPlan, readPlan } from './load-plan.ts';
export { type ResolveTaskInput, resolveTask } from './resolve-task.ts';
