export type { LoggedRequest } from './request-log.ts';
export type { Scenario, Script, ScriptedError, ScriptedUsage, ToolCall, Turn } from './script.ts';
export { type FakeLlm, type FakeLlmOptions, startFakeLlm } from './server.ts';
