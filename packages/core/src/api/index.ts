export * from './contract.ts';
export type { EngineApi } from './engine-api.ts';
export * from './paths.ts';
export { DroverError } from '../shared/errors.ts';
export { OUTCOMES, outcomeRule, type Outcome, type OutcomeRule } from '../tasks/outcomes.ts';
