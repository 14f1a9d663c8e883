import type { FleetEvent } from '../api/contract.ts';
import type { Clock } from '../shared/clock.ts';
import type { EventKind, Store } from '../store/index.ts';

const BATCH = 500;
/** Kept in the database; older ones are forgotten. */
const KEEP_EVENTS = 100_000;
const TRIM_EVERY = 5_000;

/**
 * The engine's events: written to the store first, then announced. A subscriber reads from the store from its own
 * position on, so a slow one costs no memory here and a restarted engine goes on where the old one stopped.
 */
export class EventLog {
  readonly #store: Store;
  readonly #clock: Clock;
  #waiting = new Set<() => void>();
  #closed = false;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Records an event; answers its number. */
  emit(
    kind: EventKind,
    names: { ref?: string; plan?: string },
    text: string,
    data: Record<string, unknown> = {},
  ): number {
    const seq = this.#store.addEvent({
      atMs: this.#clock.now(),
      kind,
      ref: names.ref ?? null,
      plan: names.plan ?? null,
      text,
      data,
    });
    if (seq % TRIM_EVERY === 0) this.#store.trimEvents(KEEP_EVENTS);
    this.#wake();
    return seq;
  }

  /** Events after `sinceSeq`, then live ones until the signal aborts or the engine closes. */
  async *follow(sinceSeq: number, plan: string | undefined, signal: AbortSignal): AsyncGenerator<FleetEvent> {
    let position = sinceSeq;
    while (!signal.aborted) {
      const batch = this.#store.eventsAfter(position, BATCH, plan);
      for (const event of batch) {
        position = event.seq;
        yield event;
      }
      if (batch.length < BATCH) {
        if (this.#closed) return;
        await this.#next(signal);
      }
    }
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const go of waiting) go();
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        this.#waiting.delete(go);
        signal.removeEventListener('abort', go);
        resolve();
      };
      this.#waiting.add(go);
      signal.addEventListener('abort', go);
    });
  }
}
