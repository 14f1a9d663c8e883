import type { EngineApi, FleetEvent, TaskView } from '@drover/core/client';
import { isSettled } from './done.ts';
import { readTasks } from './read-tasks.ts';

/** What shows the progress: a live table, plain lines, JSON lines, nothing. */
export interface View {
  event(event: FleetEvent): void;
  /** The state of all tasks, after an event and from time to time. */
  tasks(tasks: TaskView[]): Promise<void> | void;
  /** Milliseconds between looks at the figures; absent: only events count. */
  refreshMs?: number;
  /** Leaves the screen in order. Called once, also after an error. */
  close(): void;
}

export interface FollowOptions {
  refs: readonly string[];
  sinceEvent: number;
  /** Events of this plan alone; absent: of all. */
  plan?: string;
  signal: AbortSignal;
  /** Stop at the first task that has ended. */
  any?: boolean;
}

/** Follows tasks until all have settled. Null when the signal came first. */
export async function follow(api: EngineApi, options: FollowOptions, view: View): Promise<TaskView[] | null> {
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  let failure: unknown;
  let last: TaskView[] = [];
  const look = serialized(async () => {
    last = await readTasks(api, options.refs);
    await view.tasks(last);
    if (options.any ? last.some(isSettled) : last.every(isSettled)) over.abort();
  });
  const fail = (error: unknown) => {
    failure ??= error;
    over.abort();
  };
  const timer = view.refreshMs ? setInterval(() => void look().catch(fail), view.refreshMs) : undefined;
  try {
    await look();
    const mine = new Set(options.refs);
    for await (const event of api.events({ sinceSeq: options.sinceEvent, plan: options.plan }, signal)) {
      if (event.ref !== null && !mine.has(event.ref)) continue;
      view.event(event);
      void look().catch(fail);
    }
    await look.idle();
  } finally {
    clearInterval(timer);
    view.close();
  }
  if (failure) throw failure;
  return over.signal.aborted ? last : null;
}

/** Runs one at a time; calls made meanwhile are one more run after it. */
function serialized(work: () => Promise<void>) {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const start = (): Promise<void> => {
    running = work().finally(() => (running = undefined));
    return running;
  };
  const run = (): Promise<void> => {
    if (!running) return start();
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
  return Object.assign(run, { idle: async () => void (await Promise.allSettled([running, next])) });
}
