import { setTimeout as sleep } from 'node:timers/promises';

export interface RetryOptions {
  /** Tries in all. */
  tries: number;
  /** First wait, milliseconds; each later one is twice as long, with half of it random so that two do not meet again. */
  firstWaitMs: number;
  when(error: unknown): boolean;
}

/** Runs `work` again while it fails with an error that `when` says may pass. Rejects with the last error. */
export async function retry<T>(options: RetryOptions, work: () => Promise<T>): Promise<T> {
  for (let tried = 1, wait = options.firstWaitMs; ; tried++, wait *= 2) {
    try {
      return await work();
    } catch (error) {
      if (tried >= options.tries || !options.when(error)) throw error;
      await sleep(wait / 2 + (Math.random() * wait) / 2);
    }
  }
}
