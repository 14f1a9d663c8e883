/** The client's side without the schemas: what a command needs to start in a blink. */
export { DroverError } from '../shared/errors.ts';
export { formatBytes, parseDuration } from '../shared/units.ts';
export { LIMIT_RULES, type LimitKey } from '../tasks/limits.ts';
export { answers, checkSocketPath } from './claim-socket.ts';
export { type ConnectOptions, connectEngine, lazyEngine } from './client.ts';
export type * from './contract.ts';
export type { EngineApi } from './engine-api.ts';
export * from './paths.ts';
export { API_VERSION, DROVER_VERSION } from './version.ts';
export { isDroverError, toWireError, type WireError } from './wire-error.ts';
