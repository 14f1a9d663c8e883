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
  /** Events that are of this plan, but of no task, are shown too. */
  plan?: string;
  signal: AbortSignal;
  /** Stop at the first task that has ended. */
  any?: boolean;
}

/** Follows tasks until all have settled, and every event up to then is shown. Null when the signal came first. */
export async function follow(api: EngineApi, options: FollowOptions, view: View): Promise<TaskView[] | null> {
  const over = new AbortController();
  let failure: unknown;
  let seen = options.sinceEvent;
  /** Known once all have settled: the last event that may tell of it. */
  let until = Number.POSITIVE_INFINITY;
  let last: TaskView[] = [];
  const look = serialized(async () => {
    last = await readTasks(api, options.refs);
    await view.tasks(last);
    if (!(options.any ? last.some(isSettled) : last.every(isSettled))) return;
    until = Math.min(until, (await api.status({})).lastEvent ?? 0);
    if (seen >= until) over.abort();
  });
  const lookSoon = () =>
    void look().catch((error: unknown) => {
      failure ??= error;
      over.abort();
    });
  const timer = view.refreshMs ? setInterval(lookSoon, view.refreshMs) : undefined;
  try {
    await look();
    const mine = new Set(options.refs);
    const signal = AbortSignal.any([options.signal, over.signal]);
    // All plans' events: only so is it known that none is left out.
    for await (const event of api.events({ sinceSeq: options.sinceEvent }, signal)) {
      seen = event.seq;
      if (event.ref === null ? event.plan === options.plan : mine.has(event.ref)) {
        view.event(event);
        lookSoon();
      }
      if (seen >= until) over.abort();
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
