import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { DroverError } from '../shared/errors.ts';
import { git, gitLine } from './git.ts';
import type { GitPlace } from './git-environment.ts';
import { GitError } from './git-error.ts';
import type { ObjectFormat } from './oid.ts';
import { requireGitVersion } from './version.ts';

/** A repository of the user's, as found from one directory. All paths are real paths. */
export interface Repository {
  /** Objects, refs and configuration: `.git` of the main checkout, or the bare repository itself. */
  readonly commonDir: string;
  /** The git directory of the worktree it was opened from: its `HEAD` is what the user means by HEAD. */
  readonly gitDir: string;
  /** The main checkout; null for a bare repository. */
  readonly mainWorktree: string | null;
  /** For people and directory names: letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /** `<name>-<hash>`: unique among the repositories of this machine. */
  readonly key: string;
  readonly objectFormat: ObjectFormat;
  /** A partial clone: objects may be missing here and be had from its remote. */
  readonly partial: boolean;
  /** Who owns the common directory. */
  readonly owner: { readonly uid: number; readonly gid: number };
}

/** Extensions that the shadow directory and the take-over are known to work with. */
const KNOWN_EXTENSIONS = new Set([
  'noop',
  'noop-v1',
  'objectformat',
  'partialclone',
  'preciousobjects',
  'relativeworktrees',
  'worktreeconfig',
]);

/**
 * Finds the repository of a directory: a checkout, any directory inside it, a linked worktree, a bare repository.
 *
 * Rejects with `not_a_repository`, `repository_untrusted` (git's own ownership rule) or `repository_unsupported`.
 */
export async function openRepository(cwd: string): Promise<Repository> {
  await requireGitVersion();
  const start = await realpath(cwd).catch((cause) => {
    throw notARepository(cwd, cause);
  });
  const gitDir = await realpath(await discover(start, '--absolute-git-dir'));
  const commonDir = await realpath(resolve(start, await discover(start, '--git-common-dir')));
  const extensions = await supportedExtensions(commonDir);
  const mainWorktree = await findMainWorktree({ start, gitDir, commonDir });
  const name = nameOf(mainWorktree ?? commonDir);
  const { uid, gid } = await stat(commonDir);
  return {
    commonDir,
    gitDir,
    mainWorktree,
    name,
    key: `${name}-${createHash('sha256').update(commonDir).digest('hex').slice(0, 8)}`,
    objectFormat: (extensions.get('objectformat')?.toLowerCase() ?? 'sha1') as ObjectFormat,
    partial: extensions.has('partialclone') || (await hasPromisor(commonDir)),
    owner: { uid, gid },
  };
}

/** Where commands on the repository as a whole run: no index, no worktree of anybody's. */
export function repositoryPlace(repo: Pick<Repository, 'commonDir'>): GitPlace {
  return { gitDir: repo.commonDir };
}

async function discover(cwd: string, what: string): Promise<string> {
  try {
    return await gitLine(null, ['rev-parse', what], { cwd, discover: true });
  } catch (error) {
    throw error instanceof GitError ? explain(cwd, error) : error;
  }
}

function explain(cwd: string, error: GitError): DroverError {
  const { stderr } = error;
  const unknown = /unknown repository extensions? found:\s+([\s\S]+)/.exec(stderr)?.[1];
  if (unknown) return unsupported(cwd, unknown.trim().split(/\s+/));
  if (/dubious ownership|unsafe repository/.test(stderr)) return untrusted(cwd, error);
  if (/not a git repository/.test(stderr)) return notARepository(cwd, error);
  if (/Expected git repo version/.test(stderr)) return unsupported(cwd, [stderr.trim().replace(/^fatal: /, '')]);
  return error;
}

function notARepository(cwd: string, cause: unknown): DroverError {
  return new DroverError(
    'not_a_repository',
    `${cwd} is not inside a git repository`,
    'Change to a checkout, or make one: `git init && git add . && git commit`.',
    { cause },
  );
}

function untrusted(cwd: string, cause: unknown): DroverError {
  return new DroverError(
    'repository_untrusted',
    `git refuses ${cwd}: it belongs to another user`,
    `If you trust its owner: git config --global --add safe.directory '${cwd}'`,
    { cause },
  );
}

function unsupported(where: string, extensions: readonly string[]): DroverError {
  const reftable = extensions.some((name) => name.startsWith('refstorage'));
  return new DroverError(
    'repository_unsupported',
    `${where} uses a repository format that Drover does not work with: ${extensions.join(', ')}`,
    reftable ? 'Convert it: `git refs migrate --ref-format=files` (git 2.46 or newer).' : '',
  );
}

async function supportedExtensions(commonDir: string): Promise<Map<string, string>> {
  const { stdout } = await git({ gitDir: commonDir }, ['config', '-z', '--get-regexp', '^extensions\\.'], {
    okCodes: [0, 1],
  });
  const found = new Map<string, string>();
  for (const entry of stdout.toString('utf8').split('\0').filter(Boolean)) {
    const [key = '', value = ''] = entry.split('\n');
    found.set(key.slice('extensions.'.length), value);
  }
  if (found.get('refstorage')?.toLowerCase() === 'files') found.delete('refstorage');
  const unknown = [...found].filter(([name]) => !KNOWN_EXTENSIONS.has(name));
  if (unknown.length > 0) {
    throw unsupported(
      commonDir,
      unknown.map(([name, value]) => `${name} = ${value}`),
    );
  }
  return found;
}

async function hasPromisor(commonDir: string): Promise<boolean> {
  const args = ['config', '--get-regexp', '^remote\\..*\\.promisor$', 'true'];
  return (await git({ gitDir: commonDir }, args, { okCodes: [0, 1] })).code === 0;
}

async function findMainWorktree(at: { start: string; gitDir: string; commonDir: string }): Promise<string | null> {
  const common = { gitDir: at.commonDir };
  if ((await gitLine(common, ['rev-parse', '--is-bare-repository'])) === 'true') return null;
  const configured = await gitLine(common, ['config', '--get', 'core.worktree'], { okCodes: [0, 1] });
  if (configured !== '') return await realpath(resolve(at.commonDir, configured));
  if (basename(at.commonDir) === '.git') return dirname(at.commonDir);
  // A git directory kept elsewhere (--separate-git-dir): known only from within its checkout.
  if (at.gitDir !== at.commonDir || (await discover(at.start, '--is-inside-work-tree')) !== 'true') return null;
  return await realpath(await discover(at.start, '--show-toplevel'));
}

function nameOf(path: string): string {
  const plain = basename(path)
    .replace(/\.git$/, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 40);
  return plain || 'repository';
}
