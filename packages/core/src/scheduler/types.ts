import type { Strategy, TaskClass } from '../tasks/definition.ts';
import type { Outcome } from '../tasks/outcomes.ts';
import type { TaskState } from '../tasks/states.ts';

/** Where a task that another one waits for stands. */
export interface DependencyState {
  /** `plan/task`. */
  ref: string;
  /** `missing`: nobody knows it any more. */
  state: TaskState | 'missing';
  /** Of an ended task. */
  outcome?: Outcome | null;
  /** Of a task that is `blocked` since earlier: the sentence it was blocked with. */
  reason?: string;
}

/** A task that waits to be started. */
export interface QueuedTask {
  /** `plan/task`, unique. */
  ref: string;
  plan: string;
  class: TaskClass;
  /** 0 to 100. */
  priority: number;
  /** Its plan's. Tasks of a `fifo` plan have no class and no priority of their own. */
  strategy: Strategy;
  /** Milliseconds since the epoch. Aging counts from here. */
  submittedMs: number;
  /** Order of submission, for tasks of the same millisecond. */
  sequence: number;
  dependencies: readonly DependencyState[];
  /** Not to be started before; `why` ends the sentence "waits until ...: ". */
  notBefore?: { atMs: number; why: string };
  /** What it is expected to use, bytes. */
  memoryEstimateBytes: number;
}

/** An attempt that holds a slot. */
export interface ActiveAttempt {
  /** `plan/task`. */
  ref: string;
  plan: string;
  memoryEstimateBytes: number;
  /** What it uses now; absent: not measured. */
  memoryBytes?: number;
}

/** All that decisions are made from, besides time and machine. */
export interface SchedulerState {
  queued: readonly QueuedTask[];
  active: readonly ActiveAttempt[];
  /** Slots of the fleet. */
  maxParallelAgents: number;
  /** Slots of each plan; a plan that is not here has the fleet's. */
  planMax: ReadonlyMap<string, number>;
}

/** What the machine can give now. */
export interface Resources {
  memoryAvailableBytes: number;
  /** Left free in any case. */
  memoryHeadroomBytes: number;
}

export type Action = { kind: 'start'; ref: string } | { kind: 'block'; ref: string; reason: string };

export interface Decision {
  /** Blocks first, then starts in the order in which they are to be made. */
  actions: Action[];
  /** For every queued task that is not started: a true sentence. */
  reasons: Map<string, string>;
}
