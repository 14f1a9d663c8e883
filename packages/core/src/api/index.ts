export { DroverError } from '../shared/errors.ts';
export { OUTCOMES, type Outcome, type OutcomeRule, outcomeRule } from '../tasks/outcomes.ts';
export * from './contract.ts';
export type { EngineApi } from './engine-api.ts';
export * from './paths.ts';
