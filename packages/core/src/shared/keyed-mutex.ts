/** Runs work of one key one after the other, in the order it was asked for; work of different keys side by side. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as `work` does. A failure never blocks what waits behind it. Not reentrant. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key);
    }
  }

  /** How many keys have work running or waiting. */
  get size(): number {
    return this.#tails.size;
  }
}
