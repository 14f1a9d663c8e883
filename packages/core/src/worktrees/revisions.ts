import { DroverError } from '../shared/errors.ts';
import { git, gitLine } from './git.ts';
import { GitError } from './git-error.ts';
import { isDroverRef } from './names.ts';
import { isOid } from './oid.ts';
import { printable } from './printable.ts';
import { type Repository, repositoryPlace } from './repository.ts';

/**
 * The commit that a revision names, seen from the worktree the repository was opened in.
 * Rejects with `unknown_revision`, and with `no_commits` for a repository that has none yet.
 */
export async function resolveBase(repo: Repository, rev: string): Promise<string> {
  const oid = await tryResolve(repo, rev);
  if (oid !== null) return oid;
  if (rev === 'HEAD') {
    throw new DroverError('no_commits', `${repo.name} has no commit yet`, 'Make a first commit.');
  }
  throw new DroverError(
    'unknown_revision',
    `${repo.name} has no commit named ${JSON.stringify(printable(rev))}`,
    'Name a branch, tag or commit; `git fetch` first if it is a remote one.',
  );
}

async function tryResolve(repo: Repository, rev: string): Promise<string | null> {
  if (rev === '' || rev.startsWith('-') || rev.includes('\0')) return null;
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${rev}^{commit}`];
  const result = await git({ gitDir: repo.gitDir }, args, { okCodes: [0, 1, 128] });
  const oid = result.stdout.toString('utf8').trim();
  return result.code === 0 && isOid(oid, repo.objectFormat) ? oid : null;
}

/** A commit in words: its abbreviated id and first line. */
export async function describeCommit(repo: Repository, oid: string): Promise<{ short: string; subject: string }> {
  const args = ['log', '-1', '--no-walk', '--format=%h%x00%s', requireOid(repo, oid)];
  const [short = '', subject = ''] = (await gitLine(repositoryPlace(repo), args)).split('\0');
  return { short, subject: printable(subject) };
}

/** True when `oid` is contained in a branch, remote branch or tag that is not Drover's own. */
export async function isMerged(repo: Repository, oid: string): Promise<boolean> {
  const where = ['refs/heads', 'refs/remotes', 'refs/tags'];
  const args = ['for-each-ref', '--format=%(refname)', `--contains=${requireOid(repo, oid)}`, ...where];
  const { stdout } = await git(repositoryPlace(repo), args);
  return stdout
    .toString('latin1')
    .split('\n')
    .some((ref) => ref !== '' && !isDroverRef(ref));
}

/** True when `ancestor` is `oid` or in its history. */
export async function isAncestor(repo: Repository, ancestor: string, oid: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', requireOid(repo, ancestor), requireOid(repo, oid)];
  return (await git(repositoryPlace(repo), args, { okCodes: [0, 1] })).code === 0;
}

/** The value of a full ref name, or null. */
export async function readRef(repo: Repository, ref: string): Promise<string | null> {
  // show-ref and not rev-parse, which would look for the name below other directories as well.
  const args = ['show-ref', '--verify', '--hash', '--', ref];
  const { code, stdout } = await git(repositoryPlace(repo), args, { okCodes: [0, 1, 128] });
  return code === 0 ? stdout.toString('utf8').trim() : null;
}

/** The tree of a commit. */
export async function treeOf(repo: Repository, oid: string): Promise<string> {
  return await gitLine(repositoryPlace(repo), ['rev-parse', '--verify', `${requireOid(repo, oid)}^{tree}`]);
}

/** Full ids only: whatever else git could read as a revision or an option is a programming error. */
export function requireOid(repo: Repository, oid: string): string {
  if (!isOid(oid, repo.objectFormat))
    throw new DroverError('bad_oid', `${JSON.stringify(printable(oid))} is no object id`);
  return oid;
}

/** True when the engine's git said that a ref was not as expected. */
export function isRefConflict(error: unknown): boolean {
  return (
    error instanceof GitError && /but expected|reference already exists|unable to resolve reference/.test(error.stderr)
  );
}
