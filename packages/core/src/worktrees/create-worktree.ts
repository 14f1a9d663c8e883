import { mkdir, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { DroverError } from '../shared/errors.ts';
import { adminDir, findAdminDir, idOfNewWorktree, isComplete, lockReason, removeAdminDir } from './admin-dir.ts';
import { exists, readLine } from './files.ts';
import { git } from './git.ts';
import { withRepositoryLock } from './locks.ts';
import { removeTree } from './remove-tree.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { requireOid } from './revisions.ts';

/** A worktree that Drover made. Both fields go into the store; the id is never read from the worktree again. */
export interface Worktree {
  /** Real path. The same inside the sandbox. */
  readonly path: string;
  /** Name of its administrative directory. */
  readonly id: string;
}

/**
 * Checks out `base` with a detached HEAD at `path`, locked with Drover's reason so that nobody prunes it.
 *
 * Can be repeated after a crash at any moment: a finished worktree of the same path and base is given back untouched (an
 * agent may have worked in it), a half-made one of Drover's own is removed and made again. What is not Drover's is
 * refused with `worktree_path_taken`.
 */
export async function createWorktree(repo: Repository, options: { path: string; base: string }): Promise<Worktree> {
  const base = requireOid(repo, options.base);
  const path = await realDestination(options.path);
  return await withRepositoryLock(repo, async () => {
    if (await exists(asidePath(path))) throw taken(path, 'its removal was not finished');
    const id = await findAdminDir(repo, path);
    if (id !== null && (await isFinished(repo, { path, id }))) return await readopt(repo, { path, id }, base);
    if (id !== null) await discardHalfMade(repo, { path, id });
    await requireFree(path);
    return await addWorktree(repo, path, base);
  });
}

/** The finished worktree that Drover made at this path, or null. */
export async function findWorktree(repo: Repository, path: string): Promise<Worktree | null> {
  const real = await realDestination(path);
  const id = await findAdminDir(repo, real);
  return id !== null && (await isFinished(repo, { path: real, id })) ? { path: real, id } : null;
}

/** Where a worktree waits for its deletion. */
export function asidePath(path: string): string {
  return `${path}.removing`;
}

async function isFinished(repo: Repository, { path, id }: Worktree): Promise<boolean> {
  return (await exists(path)) && (await isComplete(repo, id));
}

/**
 * No --force: git's own refusals stand. Detached makes no branch, so nothing is tracked and no configuration is written.
 * The checkout is a command of its own, because `git worktree add` would leave it to a child that survives a killed engine.
 */
async function addWorktree(repo: Repository, path: string, base: string): Promise<Worktree> {
  const lock = ['--lock', '--reason', lockReason(path)];
  const args = ['worktree', 'add', '--detach', '--no-checkout', '--quiet', ...lock, '--', path, base];
  await git(repositoryPlace(repo), args, { diesWithEngine: true });
  const worktree = { path, id: await idOfNewWorktree(repo, path) };
  await git({ gitDir: adminDir(repo, worktree.id), workTree: path }, ['read-tree', '--reset', '-u', base], {
    cwd: path,
    timeoutMs: 1_800_000,
    allowFetch: repo.partial,
    diesWithEngine: true,
  });
  return worktree;
}

async function readopt(repo: Repository, worktree: Worktree, base: string): Promise<Worktree> {
  const head = await readLine(join(adminDir(repo, worktree.id), 'HEAD'));
  if (head === base) return worktree;
  throw taken(worktree.path, 'it is a worktree of another commit');
}

/** No agent has been in there: the index, written last, is missing. */
async function discardHalfMade(repo: Repository, { path, id }: Worktree): Promise<void> {
  await removeTree(path);
  await removeAdminDir(repo, id);
}

async function requireFree(path: string): Promise<void> {
  const entries = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw taken(path, error.code === 'ENOTDIR' ? 'a file is there' : `${error.code}`);
  });
  if (entries.length > 0) throw taken(path, 'the directory is not empty');
}

function taken(path: string, why: string): DroverError {
  return new DroverError('worktree_path_taken', `no worktree can be made at ${path}: ${why}`, 'Move it away.');
}

/** git records real paths; so must everything that is compared with them. */
async function realDestination(path: string): Promise<string> {
  if (!isAbsolute(path)) throw new RangeError(`${path} is not absolute`);
  const parent = dirname(path);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  return join(await realpath(parent), basename(path));
}
