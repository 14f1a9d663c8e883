import type { LimitKey, Limits } from './limits.ts';

export const TASK_CLASSES = ['realtime', 'interactive', 'batch'] as const;
export type TaskClass = (typeof TASK_CLASSES)[number];

export const LEVELS = ['basic', 'enhanced', 'full'] as const;
export type Level = (typeof LEVELS)[number];

export const STRATEGIES = ['priority_based', 'fifo', 'fair', 'shortest_first'] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** Which worktrees stay after their attempt. Their content is in a snapshot in any case. */
export const KEEP_WORKTREES = ['never', 'failed', 'always'] as const;
export type KeepWorktrees = (typeof KEEP_WORKTREES)[number];

/** Words for priorities; a plan may also give a number from 0 (last) to 100 (first). */
export const PRIORITIES = { high: 75, medium: 50, low: 25 } as const;

/** A wish with an id, complete: every default, type and configuration layer has been applied. */
export interface TaskDefinition {
  /** `[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`, unique in its plan; never ends in `.lock` or `.`, holds no `..` (it becomes part of a branch name). */
  id: string;
  type: string;
  class: TaskClass;
  priority: number;
  dependsOn: string[];
  /** Adapter name: `command`, `claude`, ... */
  agent: string;
  model?: string;
  /** For agents that take a prompt. */
  prompt?: string;
  /** For the `command` adapter: argv. */
  command?: string[];
  /** Run in the sandbox after the agent; exit 0 is success. argv. */
  verify?: string[];
  /** `changes`: without a commit or a change the outcome is `no_changes`. */
  expects: 'changes' | 'none';
  limits: Limits;
  /** Limits that somebody asked for, as against shipped defaults: those must be enforced or refused. */
  limitsAsked: LimitKey[];
  oom: 'kill' | 'tolerate';
  /** Milliseconds; null is no limit. */
  timeoutWallMs: number | null;
  timeoutIdleMs: number | null;
  /** For each command of `setup`, and for `verify`. Milliseconds; null is no limit. */
  timeoutSetupMs: number | null;
  timeoutVerifyMs: number | null;
  /** Time between SIGTERM and the kill, milliseconds. */
  graceMs: number;
  /** A revision to start from; absent: the plan's base, or the merge of the dependencies' results. */
  base?: string;
  /** Extra environment, from the plan or the user's configuration. */
  env: Record<string, string>;
  /** Attempts that may be spent, 1 or more. */
  maxAttempts: number;
  /** Turns and money, for agents that can be told. */
  maxTurns?: number;
  maxBudgetUsd?: number;
  /** Commands run in the sandbox before the agent; argv each. */
  setup: string[][];
}

/** A file of tasks, complete and checked. */
export interface PlanDefinition {
  /** `[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`, same rule as a task id. */
  name: string;
  tasks: TaskDefinition[];
  /** Revision that tasks without dependencies start from. */
  base: string;
  /** Asked for by name, or undefined: `enhanced` where it can be had, else `basic`. */
  level?: Level;
  maxParallelAgents: number;
  maxQueueSize: number;
  strategy: Strategy;
  keepWorktrees: KeepWorktrees;
  warnings: string[];
}
