/** What is known of a task's memory before it runs. */
export interface EstimateFacts {
  /** Its memory limit; absent: none. */
  limitBytes?: number | undefined;
  /** What configuration expects of an agent (`admission.memory_estimate`). */
  configuredBytes: number;
  /** Largest anonymous memory of earlier attempts of its kind; absent: there were none. */
  learnedBytes?: number | undefined;
}

/** What a task is expected to use: what was learned, else what configuration says, and never more than it may. */
export function estimateMemory({ limitBytes, configuredBytes, learnedBytes }: EstimateFacts): number {
  return Math.min(learnedBytes ?? configuredBytes, limitBytes ?? Number.POSITIVE_INFINITY);
}
