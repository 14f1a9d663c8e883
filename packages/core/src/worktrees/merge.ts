import { git, gitLine } from './git.ts';
import { type GitIdentity, identityEnvironment } from './identity.ts';
import { withRepositoryLock } from './locks.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { requireOid } from './revisions.ts';
import { withoutMergeDrivers } from './untrusted-content.ts';

export interface MergeConflict {
  /** The results that do not go together: what had been merged so far, and the one that failed. */
  between: [string, string];
  /** Empty when they have no common history at all. */
  paths: string[];
}

export type MergeOutcome = { oid: string } | { conflict: MergeConflict };

/**
 * The commit that a task with these dependencies starts from: theirs, merged in the order named. One commit, or several of
 * which one contains the others, is taken as it stands. No worktree and no index are touched.
 *
 * The same commits always give the same merge: its dates are those of its parents. So a rerun sees an unchanged base.
 */
export async function mergeResults(
  repo: Repository,
  oids: readonly string[],
  options: { message: string; identity: GitIdentity },
): Promise<MergeOutcome> {
  const tips = await independent(repo, oids);
  return await withRepositoryLock(repo, async () => {
    let merged = tips[0]!;
    for (const tip of tips.slice(1)) {
      const tree = await mergeTrees(repo, merged, tip);
      if ('conflict' in tree) return tree;
      merged = await commitMerge(repo, tree.tree, [merged, tip], options);
    }
    return { oid: merged };
  });
}

async function independent(repo: Repository, oids: readonly string[]): Promise<string[]> {
  const distinct = [...new Set(oids.map((oid) => requireOid(repo, oid)))];
  if (distinct.length === 0) throw new RangeError('nothing to merge');
  if (distinct.length === 1) return distinct;
  const { stdout } = await git(repositoryPlace(repo), ['merge-base', '--independent', ...distinct]);
  const kept = new Set(stdout.toString('utf8').split('\n'));
  return distinct.filter((oid) => kept.has(oid));
}

async function mergeTrees(
  repo: Repository,
  ours: string,
  theirs: string,
): Promise<{ tree: string } | { conflict: MergeConflict }> {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs];
  const config = await withoutMergeDrivers(repo);
  const { code, stdout, stderr } = await git(repositoryPlace(repo), args, { config, okCodes: [0, 1, 128] });
  const [tree = '', ...paths] = stdout.toString('utf8').split('\0').filter(Boolean);
  if (code === 0) return { tree };
  if (code === 1) return { conflict: { between: [ours, theirs], paths: [...new Set(paths)] } };
  if (/unrelated histories/.test(stderr)) return { conflict: { between: [ours, theirs], paths: [] } };
  // Anything else is an error: asked again, so that it is raised as one.
  await git(repositoryPlace(repo), args, { config });
  throw new Error(`git merge-tree failed once: ${stderr}`);
}

async function commitMerge(
  repo: Repository,
  tree: string,
  parents: readonly string[],
  { message, identity }: { message: string; identity: GitIdentity },
): Promise<string> {
  const date = await latestDate(repo, parents);
  return await gitLine(
    repositoryPlace(repo),
    ['commit-tree', tree, ...parents.flatMap((oid) => ['-p', oid]), '-F', '-'],
    {
      input: message,
      env: { ...identityEnvironment(identity), GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
    },
  );
}

async function latestDate(repo: Repository, oids: readonly string[]): Promise<string> {
  const { stdout } = await git(repositoryPlace(repo), ['log', '--no-walk', '--format=%ct', ...oids]);
  const seconds = stdout.toString('utf8').trim().split('\n').map(Number);
  return `@${Math.max(...seconds)} +0000`;
}
