import * as z from 'zod';
import { LEVELS, TASK_CLASSES } from '../tasks/definition.ts';
import { OUTCOMES, type Outcome } from '../tasks/outcomes.ts';
import { ATTEMPT_STATES, TASK_STATES } from '../tasks/states.ts';

export { API_VERSION } from './version.ts';

const outcome = z.enum(Object.keys(OUTCOMES) as [Outcome, ...Outcome[]]);

/** `plan/task`, or `task` alone where it is unique among plans that are not ended, else among all. */
export const taskRef = z.string().min(1).max(160);

export const usage = z.object({
  inputTokens: z.number().optional(),
  outputTokens: z.number().optional(),
  cacheReadTokens: z.number().optional(),
  cacheWriteTokens: z.number().optional(),
  costUsd: z.number().optional(),
  turns: z.number().optional(),
});

export const engineInfo = z.object({
  version: z.string(),
  apiVersion: z.number(),
  pid: z.number(),
  startedMs: z.number(),
  stateDir: z.string(),
  /** Levels that can be had now, and why the others cannot. */
  levels: z.array(z.object({ level: z.enum(LEVELS), available: z.boolean(), reason: z.string() })),
  openTasks: z.number(),
});

/** Flags and environment that a submission brings along. Flags win over every file. */
const submission = {
  /** Any directory inside the repository's main checkout or a worktree of it. Absolute. */
  cwd: z.string(),
  /** The client's environment, before the engine's allow-list is applied. */
  env: z.record(z.string(), z.string()),
  /** Configuration keys set by flags, e.g. `{ "execution_engine.isolation_level": "enhanced" }`. */
  overrides: z.record(z.string(), z.unknown()),
  /** Ends the tasks of an earlier plan of this name from the books' view: starts `<plan>-2`. */
  fresh: z.boolean().optional(),
};

export const planSubmit = z.strictObject({
  ...submission,
  /** The plan's text and where it came from (for messages and the plan's default name). */
  file: z.string(),
  text: z.string().max(4 * 1024 * 1024),
  /** Agent that takes the place of every task's own, e.g. to run a plan of commands' types with claude. */
  agent: z.string().optional(),
});

export const taskSpawn = z.strictObject({
  ...submission,
  /** Plan-file keys of one task, as a plan would hold them (`prompt` or `command`, `agent`, `limits`, ...). */
  task: z.record(z.string(), z.unknown()),
});

export const submitted = z.object({
  plan: z.string(),
  level: z.enum(LEVELS),
  /** Which level and why, said first by every run. */
  levelReason: z.string(),
  base: z.string(),
  warnings: z.array(z.string()),
  tasks: z.array(z.object({ ref: z.string(), state: z.enum(TASK_STATES), skipped: z.boolean() })),
  /** The first event that belongs to this submission. */
  sinceEvent: z.number(),
});

export const taskView = z.object({
  ref: z.string(),
  plan: z.string(),
  task: z.string(),
  repository: z.string(),
  type: z.string(),
  class: z.enum(TASK_CLASSES),
  priority: z.number(),
  agent: z.string(),
  model: z.string().nullable(),
  level: z.enum(LEVELS),
  state: z.enum(TASK_STATES),
  attemptState: z.enum(ATTEMPT_STATES).nullable(),
  outcome: outcome.nullable(),
  /** Why it waits, is blocked, or ended as it did. Always a true sentence, never empty. */
  reason: z.string(),
  dependsOn: z.array(z.string()),
  attempts: z.number(),
  submittedMs: z.number(),
  startedMs: z.number().nullable(),
  endedMs: z.number().nullable(),
  /** Running time so far or in all, milliseconds. */
  elapsedMs: z.number(),
  cpuMs: z.number().nullable(),
  memoryBytes: z.number().nullable(),
  memoryPeakBytes: z.number().nullable(),
  memoryLimitBytes: z.number().nullable(),
  pids: z.number().nullable(),
  commits: z.number().nullable(),
  branch: z.string().nullable(),
  result: z.string().nullable(),
  usage,
  activity: z.string().nullable(),
});

export const attemptView = z.object({
  id: z.string(),
  number: z.number(),
  state: z.enum(ATTEMPT_STATES),
  outcome: outcome.nullable(),
  reason: z.string(),
  level: z.enum(LEVELS),
  /** Limits in force, and whether limits are enforced at all. */
  enforced: z.array(z.string()),
  network: z.string(),
  agentVersion: z.string().nullable(),
  sessionId: z.string().nullable(),
  base: z.string().nullable(),
  head: z.string().nullable(),
  worktree: z.string().nullable(),
  directory: z.string(),
  startedMs: z.number().nullable(),
  endedMs: z.number().nullable(),
  summary: z.string().nullable(),
});

export const taskDetail = taskView.extend({
  prompt: z.string().nullable(),
  command: z.array(z.string()).nullable(),
  verify: z.array(z.string()).nullable(),
  limits: z.record(z.string(), z.union([z.number(), z.string()])),
  history: z.array(attemptView),
});

export const fleetStatus = z.object({
  engine: engineInfo,
  plans: z.array(
    z.object({
      name: z.string(),
      repository: z.string(),
      level: z.enum(LEVELS),
      counts: z.object({
        queued: z.number(),
        active: z.number(),
        blocked: z.number(),
        ended: z.number(),
        ok: z.number(),
      }),
    }),
  ),
  tasks: z.array(taskView),
  /** The newest event that this status knows of: events after it continue from here without a gap. */
  lastEvent: z.number().optional(),
  slots: z.object({ used: z.number(), max: z.number() }),
  machine: z.object({
    cpus: z.number(),
    load1: z.number(),
    memoryTotalBytes: z.number(),
    memoryAvailableBytes: z.number(),
  }),
});

export const EVENT_KINDS = [
  'task_queued',
  'attempt_preparing',
  'attempt_running',
  'attempt_settling',
  'attempt_ended',
  'task_blocked',
  'task_ended',
  'plan_ended',
  'warning',
] as const;

export const event = z.object({
  seq: z.number(),
  atMs: z.number(),
  kind: z.enum(EVENT_KINDS),
  ref: z.string().nullable(),
  plan: z.string().nullable(),
  /** One line for people. */
  text: z.string(),
  data: z.record(z.string(), z.unknown()),
});

export const fleetQuery = z.strictObject({
  plan: z.string().optional(),
  /** Also plans that have ended. */
  all: z.boolean().optional(),
});

export const refsInput = z.strictObject({ refs: z.array(taskRef).min(1).max(1000) });
export const stopInput = z.strictObject({
  /** Tasks, or plans as `plan/`. */
  refs: z.array(taskRef).min(1).max(1000),
  graceMs: z.number().int().min(0).max(600_000).optional(),
});
export const removeInput = z.strictObject({
  refs: z.array(taskRef).min(1).max(1000),
  /** Also where the result is not merged anywhere. The commits stay under `refs/drover/snapshots/`. */
  unmerged: z.boolean().optional(),
});
export const diffInput = z.strictObject({
  ref: taskRef,
  stat: z.boolean().optional(),
  attempt: z.number().int().min(1).optional(),
});
export const diffResult = z.object({ base: z.string(), head: z.string(), text: z.string(), truncated: z.boolean() });

/** Where to read an attempt's output: files on disk, and the keeper's socket while it lives. */
export const logPlace = z.object({
  attempt: z.string(),
  directory: z.string(),
  stdout: z.string(),
  stderr: z.string().nullable(),
  /** Output of setup and verify commands, in order. */
  exec: z.array(z.object({ name: z.string(), path: z.string() })),
  live: z.boolean(),
  tty: z.boolean(),
  /** How to show it: `text`, or the adapter's own event lines. */
  format: z.enum(['text', 'claude-stream-json']),
});

export type EngineInfo = z.infer<typeof engineInfo>;
export type PlanSubmit = z.infer<typeof planSubmit>;
export type TaskSpawn = z.infer<typeof taskSpawn>;
export type Submitted = z.infer<typeof submitted>;
export type TaskView = z.infer<typeof taskView>;
export type AttemptView = z.infer<typeof attemptView>;
export type TaskDetail = z.infer<typeof taskDetail>;
export type FleetStatus = z.infer<typeof fleetStatus>;
export type FleetEvent = z.infer<typeof event>;
export type LogPlace = z.infer<typeof logPlace>;
export type DiffResult = z.infer<typeof diffResult>;
