import { rmdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Worktree } from './create-worktree.ts';
import type { Repository } from './repository.ts';

/**
 * Level `basic` has no mounts, so the shadow is used where it lies: the worktree's `.git` leads to it, and the place of the real objects
 * is a link. The agent's git then works there by cooperation, not by force; leftovers and take-over are the same as with mounts.
 */
export async function useShadowInPlace(repo: Repository, worktree: Worktree, shadowDir: string): Promise<void> {
  const link = join(shadowDir, 'base-objects');
  await rmdir(link).catch((error: NodeJS.ErrnoException) => {
    // Made a link by an earlier call.
    if (error.code !== 'ENOTDIR') throw error;
  });
  await symlink(join(repo.commonDir, 'objects'), link).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await writeFile(join(worktree.path, '.git'), `gitdir: ${join(shadowDir, 'worktrees', worktree.id)}\n`);
}
