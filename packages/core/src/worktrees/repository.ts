import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DroverError } from '../shared/errors.ts';
import { KeyedMutex } from '../shared/keyed-mutex.ts';
import { GitError, type GitPlace, git } from './git.ts';

/** A repository of the user. All paths are real paths. */
export interface Repository {
  /** The common `.git` directory, or the bare repository itself. */
  commonDir: string;
  /** The main checkout; null when it is bare. */
  mainWorktree: string | null;
  name: string;
  /** `<name>-<hash of the common directory>`: names its directory among the worktrees. */
  key: string;
  /** Length of an object id in hex digits: 40 or 64. */
  oidLength: number;
}

const mutex = new KeyedMutex();

/** Work on refs and worktrees of one repository, one after the other. */
export function serialised<T>(repository: Repository, work: () => Promise<T>): Promise<T> {
  return mutex.run(repository.commonDir, work);
}

/** Host-side git in the repository itself, without a working tree. */
export function repositoryGit(repository: Repository, args: readonly string[], place: GitPlace = {}): Promise<string> {
  return git(args, { gitDir: repository.commonDir, ...place });
}

/** The repository that a directory belongs to: main checkout, any worktree of it, or a bare one. Throws `not_a_repository`. */
export async function openRepository(cwd: string): Promise<Repository> {
  let common: string;
  try {
    // A bare repository may be stood in on purpose: the user names it himself.
    common = await git(['-c', 'safe.bareRepository=all', 'rev-parse', '--path-format=absolute', '--git-common-dir'], {
      cwd,
    });
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw new DroverError(
      'not_a_repository',
      `${cwd} is in no git repository`,
      'Go into one, or make one: `git init && git commit --allow-empty -m start`.',
      { cause: error },
    );
  }
  return openRepositoryAt(common);
}

/** The repository of a common directory. Throws `repository_unsupported` by name for what Drover cannot keep apart. */
export async function openRepositoryAt(commonDir: string): Promise<Repository> {
  const real = await realpath(commonDir).catch((error: Error) => {
    throw new DroverError('not_a_repository', `${commonDir} is gone`, 'Was the repository moved?', { cause: error });
  });
  const config = await git(['config', '--list', '-z'], { gitDir: real, env: { GIT_CONFIG_NOSYSTEM: '1' } });
  const settings = new Map(
    config
      .split('\0')
      .filter(Boolean)
      .map((entry) => [entry.split('\n')[0]!, entry.slice(entry.indexOf('\n') + 1)]),
  );
  if ((settings.get('extensions.refstorage') ?? 'files') !== 'files') {
    throw new DroverError(
      'repository_unsupported',
      `${real} keeps its refs as ${settings.get('extensions.refstorage')}`,
      'Drover needs the `files` format.',
    );
  }
  const mainWorktree = settings.get('core.bare') === 'true' ? null : await mainOf(real, settings.get('core.worktree'));
  const name =
    basename(mainWorktree ?? real)
      .replace(/\.git$/, '')
      .replace(/[^A-Za-z0-9._-]/g, '_') || 'repository';
  const hash = createHash('sha256').update(real).digest('hex').slice(0, 8);
  return {
    commonDir: real,
    mainWorktree,
    name,
    key: `${name}-${hash}`,
    oidLength: settings.get('extensions.objectformat') === 'sha256' ? 64 : 40,
  };
}

async function mainOf(commonDir: string, configured: string | undefined): Promise<string | null> {
  if (configured !== undefined) return realpath(join(commonDir, configured)).catch(() => null);
  if (basename(commonDir) !== '.git') return null;
  const parent = dirname(commonDir);
  return (await stat(parent)).isDirectory() ? parent : null;
}

/** The commit that a revision names. Throws `bad_revision`. */
export async function resolveBase(repository: Repository, revision: string): Promise<string> {
  // HEAD of the main checkout, also where the caller stands in another worktree.
  try {
    return await repositoryGit(repository, [
      'rev-parse',
      '--verify',
      '--quiet',
      '--end-of-options',
      `${revision}^{commit}`,
    ]);
  } catch (error) {
    const empty =
      revision === 'HEAD'
        ? 'The repository needs one commit at least: `git commit --allow-empty -m start`.'
        : 'See `git log`.';
    throw new DroverError('bad_revision', `'${revision}' is no commit of ${repository.name}`, empty, { cause: error });
  }
}

/** A file of a commit as text; null when there is none. */
export async function fileAt(repository: Repository, oid: string, path: string): Promise<string | null> {
  try {
    return await repositoryGit(repository, ['cat-file', 'blob', `${oid}:${path}`]);
  } catch (error) {
    if (error instanceof GitError && /does not exist|Not a valid object name|bad file/.test(error.stderr)) return null;
    throw error;
  }
}
