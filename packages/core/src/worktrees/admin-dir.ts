import { createHash } from 'node:crypto';
import { readdir, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DroverError } from '../shared/errors.ts';
import { exists, readLine } from './files.ts';
import { removeTree } from './remove-tree.ts';
import type { Repository } from './repository.ts';

/**
 * git keeps of each linked worktree an administrative directory, `worktrees/<id>` in the common directory. It lies
 * outside every sandbox, so what it holds was written by the host alone.
 */
export function adminDir(repo: Repository, id: string): string {
  if (id === '' || id === '.' || id === '..' || id.includes('/')) {
    throw new DroverError('worktree_not_ours', `${JSON.stringify(id)} is not the id of a worktree`);
  }
  return join(repo.commonDir, 'worktrees', id);
}

/**
 * The reason in its `locked` file. git writes it before anything else, so a half-made worktree can be told as Drover's
 * own, and as the one of this very path.
 */
export function lockReason(path: string): string {
  return `drover ${createHash('sha256').update(path).digest('hex').slice(0, 16)}`;
}

/** The id of the administrative directory that Drover made for `path`, or null. A foreign one is never found. */
export async function findAdminDir(repo: Repository, path: string): Promise<string | null> {
  const ids = await readdir(join(repo.commonDir, 'worktrees')).catch(() => []);
  for (const id of ids) {
    if (await isOurs(repo, id, path)) return id;
  }
  return null;
}

/** True when Drover locked it for this path, and git says nothing else of it. */
export async function isOurs(repo: Repository, id: string, path: string): Promise<boolean> {
  const dir = adminDir(repo, id);
  if ((await readLine(join(dir, 'locked'))) !== lockReason(path)) return false;
  const gitFile = await readLine(join(dir, 'gitdir'));
  return gitFile === null || gitFile === join(path, '.git');
}

/**
 * True when the checkout was finished. `git worktree add` writes the index as its last act; an agent cannot make one here.
 */
export async function isComplete(repo: Repository, id: string): Promise<boolean> {
  const dir = adminDir(repo, id);
  return (await exists(join(dir, 'index'))) && !(await exists(join(dir, 'index.lock')));
}

/** Removes it as `git worktree remove` does, and `worktrees` itself with the last one. */
export async function removeAdminDir(repo: Repository, id: string): Promise<void> {
  await removeTree(adminDir(repo, id));
  await rmdir(join(repo.commonDir, 'worktrees')).catch(() => {});
}

/** The id that the `.git` file of a new worktree names: git adds a digit to a name that is taken. */
export async function idOfNewWorktree(repo: Repository, path: string): Promise<string> {
  const line = await readLine(join(path, '.git'));
  const dir = line?.startsWith('gitdir: ') ? line.slice('gitdir: '.length) : '';
  const id = basename(dir);
  if (dir !== '' && dirname(dir) === join(repo.commonDir, 'worktrees')) return id;
  throw new DroverError('worktree_failed', `${path}/.git does not lead into ${repo.commonDir}`);
}
