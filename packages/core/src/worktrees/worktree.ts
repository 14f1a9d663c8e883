import { mkdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DroverError } from '../shared/errors.ts';
import { type Repository, repositoryGit, serialised } from './repository.ts';

export interface Worktree {
  path: string;
  /** Its name below `<common>/worktrees`: git chooses it, it is read and never assumed. */
  id: string;
}

/** Marks worktrees as ours, and keeps `git worktree prune` off them. */
const LOCK_REASON = 'drover';

/**
 * Makes a worktree at `path` with a checkout of `base`, HEAD detached. Safe to repeat: one that an earlier, interrupted call
 * left half made is made anew; a directory that is not ours is never touched (`worktree_taken`).
 */
export async function createWorktree(input: { repository: Repository; path: string; base: string }): Promise<Worktree> {
  const { repository, path, base } = input;
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  return serialised(repository, async () => {
    await clearHalfMade(repository, path);
    await repositoryGit(
      repository,
      ['worktree', 'add', '--quiet', '--detach', '--lock', '--reason', LOCK_REASON, path, base],
      {
        cwd: '/',
      },
    );
    return { path, id: await worktreeId(path) };
  });
}

/** The admin name that the `.git` file of a worktree leads to. Only to be read before an agent could write it. */
async function worktreeId(path: string): Promise<string> {
  const text = await readFile(join(path, '.git'), 'utf8');
  return basename(text.replace(/^gitdir: /, '').trimEnd());
}

/** Our own entry for `path`, from the repository's side, which agents cannot write. */
export async function ownEntry(repository: Repository, path: string): Promise<string | null> {
  const list = await repositoryGit(repository, ['worktree', 'list', '--porcelain', '-z']);
  const entry = list.split('\0\0').find((block) => block.split('\0').includes(`worktree ${path}`));
  if (entry === undefined) return null;
  if (!entry.split('\0').includes(`locked ${LOCK_REASON}`)) {
    throw new DroverError(
      'worktree_taken',
      `${path} is a worktree that Drover did not make`,
      'Remove it, or use another state directory.',
    );
  }
  return entry;
}

async function clearHalfMade(repository: Repository, path: string): Promise<void> {
  const ours = await ownEntry(repository, path);
  const there = await stat(path).catch(() => null);
  if (ours === null && there === null) return;
  if (ours === null) {
    throw new DroverError(
      'worktree_taken',
      `${path} exists and is not a worktree of ${repository.name}`,
      'Look at it, and remove it by hand.',
    );
  }
  await discardWorktree(repository, path);
}

/**
 * Removes a worktree of ours, files and entry. The files go by a walk that follows no link, the entry by `prune`: `git worktree
 * remove` would read the index and configuration that an agent could write. The caller has saved what is worth it.
 */
export async function discardWorktree(repository: Repository, path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  if ((await ownEntry(repository, path)) === null) return;
  await repositoryGit(repository, ['worktree', 'unlock', path], { cwd: '/' });
  await repositoryGit(repository, ['worktree', 'prune', '--expire', 'now'], { cwd: '/' });
}

/** Removes a worktree of ours if it is there, and the directories above it that only it needed. Throws `worktree_taken` for any other. */
export function removeWorktree(repository: Repository, path: string): Promise<void> {
  return serialised(repository, async () => {
    if ((await ownEntry(repository, path)) === null) return;
    await discardWorktree(repository, path);
    for (const parent of [dirname(path), dirname(dirname(path))]) if (!(await removeEmpty(parent))) return;
  });
}

async function removeEmpty(dir: string): Promise<boolean> {
  return rmdir(dir).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOTEMPTY' || error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
