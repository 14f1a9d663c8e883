export { agentEnvironment, COMMON_ENVIRONMENT, keepVariables } from './environment.ts';
export { AGENTS, findAgent } from './registry.ts';
export { type LogRenderer, logRenderer, type RenderedLine } from './render.ts';
export type * from './types.ts';
