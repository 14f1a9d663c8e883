import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExitRecord } from '@drover/helper';
import type { AgentAdapter, AgentReport } from '../agents/types.ts';
import type { Sampler } from '../sandbox/sampler.ts';
import type { Sandbox, SandboxStats } from '../sandbox/types.ts';
import type { Clock } from '../shared/clock.ts';
import { LogTail } from './log-tail.ts';

/** CPU use below this share of one CPU between two samples counts as silence: timers and heartbeats are no work. */
const IDLE_CPU_SHARE = 0.01;
/** An agent that hits its process limit at every sample for so long is exhausted, not unlucky. */
const PIDS_PATIENCE_MS = 5_000;

export type StopCause = 'cancelled' | 'timeout_idle' | 'lingered' | 'pids';

export interface WatchOptions {
  adapter: AgentAdapter;
  sandbox: Sandbox;
  dir: string;
  clock: Clock;
  sampler: Sampler;
  idleMs: number | null;
  graceMs: number;
  /** Records why, before the agent is stopped. */
  onStop(cause: StopCause): void;
  onReport(report: AgentReport): void;
  onError(error: unknown): void;
  signal: AbortSignal;
}

export interface Watched {
  exit: ExitRecord | null;
  report: AgentReport;
  /** The last figures that were seen while it ran. */
  stats: SandboxStats | undefined;
}

/**
 * Stays with a running agent to its end: parses its output as it comes, and ends it when it is idle for too long,
 * lingers after its own terminal event, or is stuck at its limit of processes. The wall clock is the keeper's.
 */
export async function watchAgent(options: WatchOptions): Promise<Watched> {
  const { adapter, sandbox, dir, clock, sampler, signal } = options;
  const parser = adapter.parser();
  const idle = new IdleClock(clock.monotonic());
  const pids = new PidsClock();
  let stats: SandboxStats | undefined;
  let linger: NodeJS.Timeout | undefined;
  let stopping = false;

  const stop = (cause: StopCause, graceMs: number): void => {
    if (stopping || signal.aborted) return;
    stopping = true;
    options.onStop(cause);
    sandbox.stop('agent', graceMs).catch(options.onError);
  };

  const tail = new LogTail(
    join(dir, 'stdout.log'),
    (bytes) => {
      idle.alive(clock.monotonic());
      parser.push(bytes);
      const report = parser.report();
      options.onReport(report);
      if (report.terminal && adapter.hasTerminalEvent) {
        linger ??= setTimeout(() => stop('lingered', 0), options.graceMs);
      } else {
        // It goes on after all, e.g. because a background task of its own came home.
        clearTimeout(linger);
        linger = undefined;
      }
    },
    options.onError,
  );
  const unlisten = sampler.listen(sandbox.ref, (sample, at) => {
    stats = sample;
    if (idle.idleFor(sample, at) >= (options.idleMs ?? Number.POSITIVE_INFINITY)) stop('timeout_idle', options.graceMs);
    if (pids.stuckFor(sample, at) >= PIDS_PATIENCE_MS) stop('pids', 0);
  });

  try {
    if (await exists(join(dir, 'stdout.log'))) await tail.start();
    const exit = await sandbox.waitExit('agent', signal);
    await tail.finish();
    parser.end();
    return { exit, report: parser.report(), stats };
  } finally {
    clearTimeout(linger);
    unlisten();
    await tail.finish();
  }
}

/** How long neither output nor CPU use has been seen. Frozen time does not count. */
export class IdleClock {
  #lastLife: number;
  #lastAt: number;
  #lastCpuUs: number | undefined;

  constructor(now: number) {
    this.#lastLife = now;
    this.#lastAt = now;
  }

  alive(now: number): void {
    this.#lastLife = Math.max(this.#lastLife, now);
  }

  idleFor(sample: SandboxStats, now: number): number {
    const elapsed = now - this.#lastAt;
    if (sample.frozen) this.#lastLife += elapsed;
    else if (sample.cpuUs !== undefined) {
      const used = sample.cpuUs - (this.#lastCpuUs ?? sample.cpuUs);
      if (used > elapsed * 1000 * IDLE_CPU_SHARE) this.#lastLife = now;
      this.#lastCpuUs = sample.cpuUs;
    }
    this.#lastAt = now;
    return now - this.#lastLife;
  }
}

/** How long each sample has seen new hits of the process limit. */
export class PidsClock {
  #hits: number | undefined;
  #since: number | undefined;

  stuckFor(sample: SandboxStats, now: number): number {
    const hits = sample.pidsMaxHits ?? 0;
    if (hits > (this.#hits ?? 0)) this.#since ??= now;
    else this.#since = undefined;
    this.#hits = hits;
    return this.#since === undefined ? 0 : now - this.#since;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
