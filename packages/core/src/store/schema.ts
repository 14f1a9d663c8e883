import type { Generated } from 'kysely';
import type { KeepWorktrees, Level, Strategy, TaskClass } from '../tasks/definition.ts';
import type { Outcome } from '../tasks/outcomes.ts';
import type { AttemptState, TaskState } from '../tasks/states.ts';

/** Times are milliseconds since the epoch, sizes bytes, oids hex. Columns named `*_json` hold JSON text. */
export interface Schema {
  repositories: RepositoryRow;
  plans: PlanRow;
  tasks: TaskRow;
  attempts: AttemptRow;
  events: EventRow;
}

export interface RepositoryRow {
  key: string;
  name: string;
  common_dir: string;
  main_worktree: string | null;
}

export interface PlanRow {
  id: Generated<number>;
  repository: string;
  name: string;
  level: Level;
  level_reason: string;
  base: string;
  max_parallel: number;
  strategy: Strategy;
  keep_worktrees: KeepWorktrees;
  /** Allow-listed environment of the submission. */
  env_json: string;
  submitted_ms: number;
  ended_ms: number | null;
}

export interface TaskRow {
  id: Generated<number>;
  plan_id: number;
  name: string;
  position: number;
  definition_json: string;
  fingerprint: string;
  class: TaskClass;
  state: TaskState;
  outcome: Outcome | null;
  reason: string;
  submitted_ms: number;
  started_ms: number | null;
  ended_ms: number | null;
  /** Attempts that count against `maxAttempts`. */
  spent: number;
  not_before_ms: number | null;
  /** Factor on the memory limit of the next attempt. */
  memory_factor: number;
  /** Bytes that admission expects it to use. */
  memory_estimate: number;
  result: string | null;
  branch: string | null;
  commits: number | null;
}

export interface AttemptRow {
  id: string;
  task_id: number;
  number: number;
  slot: number;
  state: AttemptState;
  outcome: Outcome | null;
  reason: string;
  level: Level;
  sandbox_ref: string | null;
  enforced_json: string;
  limits_json: string;
  base: string | null;
  head: string | null;
  /** Of `head` over `base`. */
  commits: number | null;
  worktree: string | null;
  worktree_id: string | null;
  /** Why the engine itself stopped the agent, written before it does. */
  stop_cause: 'cancelled' | 'timeout_idle' | 'lingered' | 'pids' | null;
  session_id: string | null;
  agent_version: string | null;
  started_ms: number | null;
  ended_ms: number | null;
  cpu_us: number | null;
  memory_peak: number | null;
  oom_kills: number | null;
  pids_max_hits: number | null;
  duration_ms: number | null;
  usage_json: string;
  summary: string | null;
}

export interface EventRow {
  seq: Generated<number>;
  at_ms: number;
  kind: string;
  ref: string | null;
  plan: string | null;
  text: string;
  data_json: string;
}
