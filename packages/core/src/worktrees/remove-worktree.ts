import { rename } from 'node:fs/promises';
import { DroverError } from '../shared/errors.ts';
import { adminDir, isComplete, isOurs, removeAdminDir } from './admin-dir.ts';
import { asidePath, type Worktree } from './create-worktree.ts';
import { exists } from './files.ts';
import type { GitIdentity } from './identity.ts';
import { withRepositoryLock } from './locks.ts';
import { refuseMounts, removeTree } from './remove-tree.ts';
import type { Repository } from './repository.ts';
import { type Snapshot, snapshotWorktree } from './snapshot.ts';

export interface RemoveOptions {
  /** Commit that holds what is known of the worktree: the last one taken over, or its base. */
  head: string;
  /** Where changes beyond `head` are recorded: see `snapshotRef`. */
  snapshotRef: string;
  identity: GitIdentity;
}

/**
 * Removes a worktree that Drover made; any other is refused with `worktree_not_ours`. Nothing in it is lost but ignored files
 * and what the answer calls skipped: changes beyond `head` are recorded first.
 *
 * It is moved aside before it is looked at, so that whoever still works there by its path cannot write between the look and
 * the deletion. Can be repeated after a crash at any moment.
 */
export async function removeWorktree(repo: Repository, worktree: Worktree, options: RemoveOptions): Promise<Snapshot> {
  return await withRepositoryLock(repo, async () => {
    const aside = asidePath(worktree.path);
    if (!(await isOurWorktree(repo, worktree, aside))) return { oid: null, skipped: [] };
    await moveAside(worktree.path, aside);
    const snapshot = await lastLook(repo, worktree, aside, options);
    await removeTree(aside);
    await removeAdminDir(repo, worktree.id);
    return snapshot;
  });
}

/** False when everything is gone already. */
async function isOurWorktree(repo: Repository, { path, id }: Worktree, aside: string): Promise<boolean> {
  if (await isOurs(repo, id, path)) return true;
  if (!(await exists(adminDir(repo, id))) && !(await exists(path)) && !(await exists(aside))) return false;
  throw new DroverError(
    'worktree_not_ours',
    `${path} is not a worktree that Drover made here`,
    'If it is yours, remove it yourself: `git worktree remove`.',
  );
}

async function moveAside(path: string, aside: string): Promise<void> {
  if (!(await exists(path))) return;
  await refuseMounts(path);
  if (await exists(aside)) {
    throw new DroverError(
      'worktree_busy',
      `${path} and ${aside} both exist`,
      'Look which one is needed, and delete the other.',
    );
  }
  await rename(path, aside);
}

async function lastLook(
  repo: Repository,
  { path, id }: Worktree,
  aside: string,
  options: RemoveOptions,
): Promise<Snapshot> {
  // Without an index the checkout was never finished: no agent was in there.
  if (!(await exists(aside)) || !(await isComplete(repo, id))) return { oid: null, skipped: [] };
  const { head, snapshotRef: ref, identity } = options;
  const message = `Files of ${path} at its removal\n`;
  try {
    return await snapshotWorktree(repo, { path: aside, id, head, ref, message, identity });
  } catch (error) {
    await rename(aside, path);
    throw error;
  }
}
