import { setTimeout as delay } from 'node:timers/promises';

export interface RetryOptions {
  /** Tries in all, the first included. */
  attempts: number;
  /** The longest wait before the second try; doubles with each one after it. */
  baseMs: number;
  maxMs: number;
  /** Errors that another try can cure. All others are thrown at once. */
  retryIf: (error: unknown) => boolean;
  /** From 0 up to 1; injected by tests. */
  random?: () => number;
  sleep?: (ms: number) => Promise<unknown>;
}

/**
 * Repeats `work` with exponential waits. Each wait is drawn between half and all of its bound, so that
 * several that met at one lock do not meet there again.
 */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts, baseMs, maxMs, retryIf, random = Math.random, sleep = delay } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= attempts || !retryIf(error)) throw error;
    }
    const bound = Math.min(maxMs, baseMs * 2 ** (attempt - 1));
    await sleep(bound * (0.5 + random() / 2));
  }
}
