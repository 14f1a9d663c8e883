import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startBasicKeeper } from '@drover/helper';
import { DroverError } from '../shared/errors.ts';
import type { Level } from '../tasks/definition.ts';
import type { LimitKey } from '../tasks/limits.ts';
import { LIMIT_KEYS } from '../tasks/limits.ts';
import { KeptSandbox, keeperSpec, startError } from './kept-sandbox.ts';
import { processTree } from './process-tree.ts';
import { roleDir } from './role-dir.ts';
import type { CreateSpec, Sandbox, SandboxProvider, SandboxRole, SandboxStats, StartSpec } from './types.ts';

const REASON = 'level `basic` has no cgroup; use `enhanced`';

/**
 * Level `basic`: a worktree, a home and an environment of its own, and a keeper that ends the whole tree. The agent runs as the
 * user, sees the user's files, and has no limits; all of that is said in every status.
 */
export class BasicProvider implements SandboxProvider {
  readonly level: Level = 'basic';
  readonly unsupported: ReadonlyMap<LimitKey, string> = new Map(LIMIT_KEYS.map((key) => [key, REASON]));
  readonly #attemptsDir: string;
  readonly #live = new Map<string, BasicSandbox>();

  /** Throws `basic_as_root`: without a namespace an agent of root would be root. */
  constructor(attemptsDir: string) {
    if (process.getuid!() === 0) {
      throw new DroverError(
        'basic_as_root',
        'level `basic` as root would run agents as root',
        'Use `enhanced`, or run Drover as an ordinary user.',
      );
    }
    this.#attemptsDir = attemptsDir;
  }

  async create(spec: CreateSpec): Promise<Sandbox> {
    return this.#sandbox(spec.attemptId);
  }

  async adopt(ref: string): Promise<Sandbox | null> {
    return this.#sandbox(ref);
  }

  /** Nobody keeps a list: a sandbox of this level is its keeper, and is found by its directory. */
  async all(): Promise<{ ref: string; attemptId: string }[]> {
    return [];
  }

  async stats(): Promise<Map<string, SandboxStats>> {
    const figures = new Map<string, SandboxStats>();
    for (const sandbox of this.#live.values()) {
      const stats = await sandbox.stats();
      if (stats) figures.set(sandbox.ref, stats);
    }
    return figures;
  }

  async close(): Promise<void> {}

  #sandbox(attemptId: string): BasicSandbox {
    const made = this.#live.get(attemptId);
    if (made) return made;
    const sandbox = new BasicSandbox(attemptId, join(this.#attemptsDir, attemptId), () => this.#live.delete(attemptId));
    this.#live.set(attemptId, sandbox);
    return sandbox;
  }
}

class BasicSandbox extends KeptSandbox {
  readonly level: Level = 'basic';
  readonly enforced: readonly LimitKey[] = [];
  readonly identity = { uid: process.getuid!(), gid: process.getgid!() };
  readonly #forget: () => void;

  constructor(ref: string, dir: string, forget: () => void) {
    super(ref, dir);
    this.#forget = forget;
  }

  async start(role: SandboxRole, spec: StartSpec): Promise<void> {
    const dir = roleDir(this.dir, role);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    try {
      await startBasicKeeper({ dir, ...keeperSpec(spec) });
    } catch (error) {
      throw startError(error, spec.argv);
    }
  }

  async stats(): Promise<SandboxStats | null> {
    const status = await this.keeperStatus('agent');
    return status ? processTree(status.initPid) : null;
  }

  async freeze(): Promise<void> {
    throw new DroverError('level_cannot', 'level `basic` cannot freeze', 'Use `enhanced`.');
  }

  thaw(): Promise<void> {
    return this.freeze();
  }

  async update(): Promise<void> {
    throw new DroverError('limit_unsupported', REASON, 'Use `enhanced`.');
  }

  async destroy(): Promise<void> {
    await this.endAllRoles();
    this.#forget();
  }
}
