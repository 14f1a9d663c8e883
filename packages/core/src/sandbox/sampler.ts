import type { SandboxProvider, SandboxStats } from './types.ts';

export type SampleListener = (stats: SandboxStats, atMonotonicMs: number) => void;

/**
 * Figures of all running sandboxes: one call to each provider a tick, for everybody who asks.
 * It ticks only while somebody listens, so an idle fleet costs nothing.
 */
export class Sampler {
  readonly #providers: () => readonly SandboxProvider[];
  readonly #intervalMs: number;
  readonly #monotonic: () => number;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Map<string, SampleListener>();
  #latest = new Map<string, SandboxStats>();
  #timer: NodeJS.Timeout | undefined;
  #busy = false;

  constructor(
    providers: () => readonly SandboxProvider[],
    intervalMs: number,
    monotonic: () => number,
    onError: (error: unknown) => void,
  ) {
    this.#providers = providers;
    this.#intervalMs = intervalMs;
    this.#monotonic = monotonic;
    this.#onError = onError;
  }

  /** The newest figures of a sandbox, by its ref. */
  latest(ref: string): SandboxStats | undefined {
    return this.#latest.get(ref);
  }

  /** Calls `listener` with each sample of `ref` until the returned function is called. */
  listen(ref: string, listener: SampleListener): () => void {
    this.#listeners.set(ref, listener);
    this.#timer ??= setInterval(() => void this.#tick(), this.#intervalMs);
    return () => {
      this.#listeners.delete(ref);
      this.#latest.delete(ref);
      if (this.#listeners.size === 0) this.stop();
    };
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #tick(): Promise<void> {
    // A provider that answers late must not pile up calls.
    if (this.#busy) return;
    this.#busy = true;
    try {
      const latest = new Map<string, SandboxStats>();
      for (const provider of this.#providers())
        for (const [ref, stats] of await provider.stats()) latest.set(ref, stats);
      this.#latest = latest;
      const now = this.#monotonic();
      for (const [ref, listener] of [...this.#listeners]) {
        const stats = latest.get(ref);
        if (stats) listener(stats, now);
      }
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#busy = false;
    }
  }
}
