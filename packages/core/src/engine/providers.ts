import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxProvider } from '../sandbox/types.ts';
import { DroverError } from '../shared/errors.ts';
import type { Level } from '../tasks/definition.ts';

const AGAIN_MS = 500;

/** Whether a level can be had now, and if not, why. */
export interface LevelState {
  level: Level;
  available: boolean;
  reason: string;
}

/** Makes a provider, or throws a DroverError that says why this machine has none now. */
export type ProviderFactory = () => Promise<SandboxProvider>;

/**
 * The sandbox providers of this engine. One that could not be made is tried again at each request: a helper that is
 * started later is found without a restart of the engine.
 */
export class Providers {
  readonly #factories: ReadonlyMap<Level, ProviderFactory>;
  readonly #made = new Map<Level, SandboxProvider>();
  readonly #making = new Map<Level, Promise<SandboxProvider>>();

  constructor(factories: ReadonlyMap<Level, ProviderFactory>) {
    this.#factories = factories;
  }

  /** All that could be made so far. */
  get made(): SandboxProvider[] {
    return [...this.#made.values()];
  }

  async states(): Promise<LevelState[]> {
    const states: LevelState[] = [];
    for (const level of this.#factories.keys()) {
      try {
        await this.#make(level);
        states.push({ level, available: true, reason: '' });
      } catch (error) {
        states.push({ level, available: false, reason: error instanceof Error ? error.message : String(error) });
      }
    }
    return states;
  }

  /** A provider that was made before; throws `level_unavailable` otherwise. */
  get(level: Level): SandboxProvider {
    const provider = this.#made.get(level);
    if (!provider)
      throw new DroverError('level_unavailable', `level '${level}' is not available`, 'Run `drover doctor`.');
    return provider;
  }

  /** Resolves when a level can be had, however long that takes; false when `signal` came first. */
  async available(level: Level, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      try {
        await this.#make(level);
        return true;
      } catch {
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    return false;
  }

  /** Makes those of `levels`, where they can be made. */
  async prepare(levels: Iterable<Level>): Promise<void> {
    for (const level of levels) await this.#make(level).catch(() => undefined);
  }

  /**
   * The level a run gets and why. One that is asked for by name is met or refused with `level_unavailable`, never lowered;
   * without a wish it is `enhanced` where that can be had, else `basic`.
   */
  async choose(wish: Level | undefined): Promise<{ level: Level; reason: string }> {
    if (wish !== undefined) {
      await this.#makeNamed(wish);
      return { level: wish, reason: 'as asked for' };
    }
    try {
      await this.#make('enhanced');
      return { level: 'enhanced', reason: 'the default' };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      await this.#makeNamed('basic');
      return { level: 'basic', reason: `enhanced cannot be had here: ${why}` };
    }
  }

  async close(): Promise<void> {
    for (const provider of this.#made.values()) await provider.close();
  }

  async #makeNamed(level: Level): Promise<void> {
    try {
      await this.#make(level);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const hint = error instanceof DroverError && error.hint ? error.hint : 'Run `drover doctor`.';
      throw new DroverError('level_unavailable', `level '${level}' cannot be had here: ${why}`, hint, { cause: error });
    }
  }

  async #make(level: Level): Promise<SandboxProvider> {
    const made = this.#made.get(level);
    if (made) return made;
    const factory = this.#factories.get(level);
    if (!factory) {
      throw new DroverError('level_unavailable', `this version has no level '${level}'`, 'Use `enhanced`.');
    }
    // Two of one level would each take the other's sandboxes for strays.
    const making = this.#making.get(level) ?? factory();
    this.#making.set(level, making);
    try {
      const provider = await making;
      this.#made.set(level, provider);
      return provider;
    } finally {
      this.#making.delete(level);
    }
  }
}
