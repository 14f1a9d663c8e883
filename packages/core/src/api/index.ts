export { DroverError } from '../shared/errors.ts';
export { OUTCOMES, type Outcome, type OutcomeRule, outcomeRule } from '../tasks/outcomes.ts';
export { answers, checkSocketPath } from './claim-socket.ts';
export { type ConnectOptions, connectEngine, lazyEngine } from './client.ts';
export * from './contract.ts';
export type { EngineApi } from './engine-api.ts';
export * from './paths.ts';
export { DROVER_VERSION } from './version.ts';
export { isDroverError, toWireError, type WireError } from './wire-error.ts';
