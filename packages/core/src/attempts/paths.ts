import { rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Where one attempt keeps its things; see docs/architecture.md. */
export interface AttemptPaths {
  /** Keeper's directory of the agent, and the attempt's own. */
  dir: string;
  home: string;
  shadow: string;
  /** Output of setup and verify commands. */
  exec: string;
  stdin: string;
}

export function attemptPaths(stateDir: string, attemptId: string): AttemptPaths {
  const dir = join(stateDir, 'attempts', attemptId);
  return {
    dir,
    home: join(stateDir, 'homes', attemptId),
    shadow: join(stateDir, 'shadows', attemptId),
    exec: join(dir, 'exec'),
    stdin: join(dir, 'stdin'),
  };
}

/** The worktree of a task's slot. Stable over attempts that share the slot. */
export function worktreePath(
  stateDir: string,
  repositoryKey: string,
  plan: string,
  task: string,
  slot: number,
): string {
  return join(stateDir, 'worktrees', repositoryKey, plan, `${task}-${slot}`);
}

/** Removes up to `levels` directories above a path, as long as they are empty. */
export async function removeEmptyParents(path: string, levels: number): Promise<void> {
  for (let at = dirname(path), i = 0; i < levels; at = dirname(at), i++) {
    try {
      await rmdir(at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOTEMPTY' || code === 'ENOENT') return;
      throw error;
    }
  }
}
