import { join } from 'node:path';
import type { AgentAdapter } from '../agents/types.ts';

const EVERY_MS = 60_000;

export interface AccountUse {
  adapter: AgentAdapter;
  env: Readonly<Record<string, string>>;
}

/**
 * Keeps what running agents share of an account valid: about once a minute, and only while attempts of an agent run that has
 * something to refresh.
 */
export class AccountKeeper {
  readonly #uses: () => AccountUse[];
  readonly #stateDir: string;
  readonly #userHome: string;
  readonly #onProblem: (agent: string, problem: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #busy: Promise<void> = Promise.resolve();

  constructor(options: {
    uses: () => AccountUse[];
    stateDir: string;
    userHome: string;
    onProblem: (agent: string, problem: string) => void;
  }) {
    this.#uses = options.uses;
    this.#stateDir = options.stateDir;
    this.#userHome = options.userHome;
    this.#onProblem = options.onProblem;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#busy = this.#busy.then(() => this.#refresh());
    }, EVERY_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#busy;
  }

  async #refresh(): Promise<void> {
    const accountsDir = join(this.#stateDir, 'accounts');
    const done = new Set<string>();
    for (const { adapter, env } of this.#uses()) {
      const key = JSON.stringify([adapter.name, env.CLAUDE_CONFIG_DIR]);
      if (!adapter.refreshAccount || done.has(key)) continue;
      done.add(key);
      const problem = await adapter.refreshAccount({ env, userHome: this.#userHome, accountsDir });
      if (problem) this.#onProblem(adapter.name, problem);
    }
  }
}
