import { DroverError } from '../shared/errors.ts';
import { GitError } from './git.ts';
import { type Repository, repositoryGit, serialised } from './repository.ts';

/**
 * Sets a task's result branch. It is made new, or moved from where Drover itself had put it; a branch with commits of somebody
 * else, or one that is checked out, is never moved (`branch_taken`).
 */
export function setResult(
  repository: Repository,
  input: { plan: string; task: string; oid: string; expectedOld: string | null },
): Promise<void> {
  const ref = `refs/heads/drover/${input.plan}/${input.task}`;
  return serialised(repository, async () => {
    const old = await refOid(repository, ref);
    if (old === input.oid) return;
    if (old !== null && old !== input.expectedOld) throw taken(ref, 'it has commits that are not of this task');
    if (old !== null && (await isCheckedOut(repository, ref))) throw taken(ref, 'it is checked out');
    try {
      await repositoryGit(repository, [
        'update-ref',
        '--no-deref',
        ref,
        input.oid,
        old ?? '0'.repeat(repository.oidLength),
      ]);
    } catch (error) {
      throw taken(ref, error instanceof GitError ? error.stderr.trim().slice(0, 200) : String(error));
    }
  });
}

function taken(ref: string, why: string): DroverError {
  const branch = ref.replace('refs/heads/', '');
  return new DroverError(
    'branch_taken',
    `branch ${branch} cannot be set: ${why}`,
    `The commits are safe under refs/drover/attempts/. Rename that branch (\`git branch -m ${branch} NEW\`), then run again.`,
  );
}

/** The object a ref points to; null when there is no such ref. */
export async function refOid(repository: Repository, ref: string): Promise<string | null> {
  const found = await repositoryGit(repository, ['for-each-ref', '--format=%(objectname) %(refname)', ref]);
  return (
    found
      .split('\n')
      .find((line) => line.endsWith(` ${ref}`))
      ?.split(' ')[0] ?? null
  );
}

async function isCheckedOut(repository: Repository, ref: string): Promise<boolean> {
  const list = await repositoryGit(repository, ['worktree', 'list', '--porcelain', '-z']);
  return list.split('\0').includes(`branch ${ref}`);
}

/** True when a commit is contained in a branch or tag of the user's own. */
export async function isMerged(repository: Repository, oid: string): Promise<boolean> {
  const refs = await repositoryGit(repository, [
    'for-each-ref',
    `--contains=${oid}`,
    '--format=%(refname)',
    'refs/heads',
    'refs/tags',
    'refs/remotes',
  ]);
  return refs.split('\n').some((ref) => ref !== '' && !ref.startsWith('refs/heads/drover/'));
}

/**
 * Removes a task's branch and attempt refs. What they held stays reachable under `refs/drover/snapshots/`. A branch that somebody
 * moved since is left alone.
 */
export function deleteTaskRefs(
  repository: Repository,
  input: { plan: string; task: string; result: string | null; attempts: string[] },
): Promise<void> {
  return serialised(repository, async () => {
    const branch = `refs/heads/drover/${input.plan}/${input.task}`;
    if (
      input.result !== null &&
      (await refOid(repository, branch)) === input.result &&
      !(await isCheckedOut(repository, branch))
    ) {
      await keep(repository, input, input.result);
      await repositoryGit(repository, ['update-ref', '-d', branch, input.result]);
    }
    for (const ref of input.attempts) {
      const oid = await refOid(repository, ref);
      if (oid === null) continue;
      await keep(repository, input, oid);
      await repositoryGit(repository, ['update-ref', '-d', ref, oid]);
    }
  });
}

async function keep(
  repository: Repository,
  { plan, task }: { plan: string; task: string },
  oid: string,
): Promise<void> {
  await repositoryGit(repository, ['update-ref', snapshotRef(plan, task, oid), oid]);
}

/** Where a commit is kept beyond the task it belonged to. */
export function snapshotRef(plan: string, task: string, oid: string): string {
  return `refs/drover/snapshots/${plan}/${task}/${oid.slice(0, 12)}`;
}
