import { DroverError } from '../shared/errors.ts';
import { git, gitItems } from './git.ts';
import { withRepositoryLock } from './locks.ts';
import { resultBranch, resultRef, type TaskName } from './names.ts';
import { zeroOid } from './oid.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { isRefConflict, readRef, requireOid } from './revisions.ts';

/**
 * Sets the branch `drover/<plan>/<task>` to the accepted attempt's commit. `expectedOld` is its value by the engine's books,
 * null when it must not exist: a branch that somebody else made, moved or has checked out is never touched.
 *
 * Rejects with `branch_taken`. Can be repeated.
 */
export async function setResult(
  repo: Repository,
  name: TaskName,
  options: { oid: string; expectedOld: string | null },
): Promise<{ branch: string }> {
  const { expectedOld } = options;
  const oid = requireOid(repo, options.oid);
  const ref = resultRef(name);
  return await withRepositoryLock(repo, async () => {
    const current = await readRef(repo, ref);
    if (current === oid) return { branch: resultBranch(name) };
    await refuseCollision(repo, name);
    if (current !== expectedOld) throw taken(name, current === null ? 'it was deleted' : 'it has commits of its own');
    await refuseCheckedOut(repo, name);
    const args = [
      'update-ref',
      '--create-reflog',
      '-m',
      'drover: result',
      ref,
      oid,
      expectedOld ?? zeroOid(repo.objectFormat),
    ];
    await git(repositoryPlace(repo), args).catch((error) => {
      throw isRefConflict(error) ? taken(name, 'it changed at this moment', error) : error;
    });
    return { branch: resultBranch(name) };
  });
}

/** Rejects with `branch_taken` when somebody has this branch checked out in any worktree. */
export async function refuseCheckedOut(repo: Repository, name: TaskName): Promise<void> {
  const fields = await gitItems(repositoryPlace(repo), ['worktree', 'list', '--porcelain', '-z']);
  if (fields.includes(`branch ${resultRef(name)}`)) throw taken(name, 'it is checked out');
}

/** A ref is a file and its slashes are directories: a branch `drover` leaves no room for `drover/<plan>/<task>`. */
async function refuseCollision(repo: Repository, name: TaskName): Promise<void> {
  const ref = resultRef(name);
  const parts = ref.split('/');
  for (const length of [3, 4]) {
    const above = parts.slice(0, length).join('/');
    if ((await readRef(repo, above)) !== null)
      throw taken(name, `a branch ${above.slice('refs/heads/'.length)} exists`);
  }
  const below = await gitItems(repositoryPlace(repo), ['for-each-ref', '--count=1', '--format=%(refname)', `${ref}/`]);
  if (below.length > 0) throw taken(name, 'branches below it exist');
}

function taken(name: TaskName, why: string, cause?: unknown): DroverError {
  return new DroverError(
    'branch_taken',
    `the branch ${resultBranch(name)} cannot be set: ${why}`,
    'Rename or delete that branch (`git branch -m`), or check out another one. The commits are kept in refs/drover/attempts.',
    { cause },
  );
}
