import { AGENTS } from '../agents/index.ts';
import { userConfigFile } from '../api/paths.ts';
import { loadConfig, readUserConfig, type SourceText } from '../config/index.ts';

/**
 * What the engine itself needs of the user's configuration, read again at each submission so that a change needs no restart.
 * A file that cannot be read stops no engine that has attempts to look after: it runs with the last good values, and every submission
 * is refused with what is wrong.
 */
export class EngineSettings {
  readonly #file: string;
  maxParallel = 10;
  memoryHeadroomBytes = 0;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#file = userConfigFile(env);
  }

  /** The user's file; null where there is none. */
  userFile(): Promise<SourceText | null> {
    return readUserConfig(this.#file);
  }

  /** Reads the file. Throws ConfigError; the values that held before then hold on. */
  async reload(): Promise<void> {
    const { config } = loadConfig({ user: await this.userFile(), adapters: AGENTS });
    this.maxParallel = config.maxParallelAgents;
    this.memoryHeadroomBytes = config.admission.memoryHeadroomBytes;
  }
}
