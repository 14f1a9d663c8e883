import type * as z from 'zod';
import type * as c from './contract.ts';

/**
 * The engine's API as its clients see it. The tRPC router serves exactly this; the typed client implements it.
 * Every call rejects with a DroverError (code, message, hint) that the engine raised, or with code
 * `engine_unreachable` / `engine_version`.
 */
export interface EngineApi {
  info(): Promise<c.EngineInfo>;
  /** Refuses with `tasks_open` while tasks are active, unless `force` (agents go on and are adopted at the next start). */
  shutdown(input: { force: boolean }): Promise<void>;
  submitPlan(input: c.PlanSubmit): Promise<c.Submitted>;
  spawnTask(input: c.TaskSpawn): Promise<c.Submitted>;
  status(input: z.infer<typeof c.fleetQuery>): Promise<c.FleetStatus>;
  task(input: { ref: string }): Promise<c.TaskDetail>;
  stop(input: z.infer<typeof c.stopInput>): Promise<{ stopped: string[] }>;
  remove(input: z.infer<typeof c.removeInput>): Promise<{ removed: string[] }>;
  diff(input: z.infer<typeof c.diffInput>): Promise<c.DiffResult>;
  logs(input: { ref: string; attempt?: number | undefined }): Promise<c.LogPlace>;
  /** Events after `sinceSeq`, then live ones, until the signal aborts. Survives a restart of the engine. */
  events(input: { sinceSeq: number; plan?: string | undefined }, signal: AbortSignal): AsyncIterable<c.FleetEvent>;
  close(): Promise<void>;
}
