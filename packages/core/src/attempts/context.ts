import type { AgentAdapter } from '../agents/types.ts';
import type { Sampler } from '../sandbox/sampler.ts';
import type { SandboxProvider, StartSpec } from '../sandbox/types.ts';
import type { Clock } from '../shared/clock.ts';
import type { Attempt, Plan, Store, TaskWithPlan } from '../store/index.ts';
import type { TaskDefinition } from '../tasks/definition.ts';
import type { Repository, TaskName } from '../worktrees/index.ts';
import type { AttemptPaths } from './paths.ts';

/** What the engine gives every attempt. */
export interface AttemptServices {
  store: Store;
  clock: Clock;
  sampler: Sampler;
  stateDir: string;
  /** The user's real home: read by adapters, never mounted as a whole. */
  userHome: string;
  providerOf(level: Attempt['level']): SandboxProvider;
  /** Resolves when a level can be had; false when `signal` came first. */
  levelAvailable(level: Attempt['level'], signal: AbortSignal): Promise<boolean>;
  adapterOf(name: string): AgentAdapter;
  repositoryOf(key: string): Promise<Repository>;
  emit(
    kind: 'attempt_preparing' | 'attempt_running' | 'attempt_settling' | 'attempt_ended' | 'warning',
    attempt: AttemptIdentity,
    text: string,
  ): void;
  /** Writes a line of the engine's own log. */
  log(level: 'info' | 'warn' | 'error', message: string, data?: Record<string, unknown>): void;
}

/** One attempt and what it belongs to; constant over its life. */
export interface AttemptIdentity {
  id: string;
  /** `plan/task`. */
  ref: string;
  number: number;
  slot: number;
  task: TaskWithPlan;
  plan: Plan;
  definition: TaskDefinition;
  paths: AttemptPaths;
}

/** What a sandbox was started with; kept as `spec.json` so that settling can enter it again after anything. */
export type SavedSpec = Pick<StartSpec, 'env' | 'cwd' | 'mounts' | 'hostname'>;

/** What names a task's refs. */
export function taskName(attempt: AttemptIdentity): TaskName {
  return { plan: attempt.plan.name, task: attempt.definition.id };
}
