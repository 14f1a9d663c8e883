/** Time, injected wherever it matters so that tests can own it. */
export interface Clock {
  /** Wall clock: milliseconds since the epoch. For records that people read, never for durations. */
  now(): number;
  /** Monotonic milliseconds. For durations and deadlines. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
