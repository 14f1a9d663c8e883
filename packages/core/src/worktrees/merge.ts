import { GitError, type GitPlace } from './git.ts';
import { type Repository, repositoryGit } from './repository.ts';

export type MergeResult = { oid: string } | { conflict: { ours: string; theirs: string; paths: string[] } };

/**
 * One commit that holds all of `oids`, merged in order, without a working tree. Commits that another one contains already are left
 * out; a single one is itself the answer.
 */
export async function mergeResults(
  repository: Repository,
  oids: readonly string[],
  options: { message: string },
): Promise<MergeResult> {
  const heads = await independent(repository, [...new Set(oids)]);
  let merged = heads[0]!;
  for (const next of heads.slice(1)) {
    const tree = await mergeTree(repository, merged, next);
    if ('paths' in tree) return { conflict: { ours: merged, theirs: next, paths: tree.paths } };
    merged = await repositoryGit(
      repository,
      ['commit-tree', tree.oid, '-p', merged, '-p', next, '-m', options.message],
      await identity(repository),
    );
  }
  return { oid: merged };
}

async function independent(repository: Repository, oids: string[]): Promise<string[]> {
  if (oids.length < 2) return oids;
  const left = new Set((await repositoryGit(repository, ['merge-base', '--independent', ...oids])).split('\n'));
  return oids.filter((oid) => left.has(oid));
}

async function mergeTree(
  repository: Repository,
  ours: string,
  theirs: string,
): Promise<{ oid: string } | { paths: string[] }> {
  try {
    const out = await repositoryGit(repository, [
      'merge-tree',
      '--write-tree',
      '--name-only',
      '-z',
      '--no-messages',
      ours,
      theirs,
    ]);
    return { oid: out.split('\0')[0]!.trim() };
  } catch (error) {
    if (!(error instanceof GitError && error.exitCode === 1)) throw error;
    const out = String((error.cause as { stdout?: string }).stdout ?? '');
    return { paths: out.split('\0').slice(1).filter(Boolean) };
  }
}

/** The user's own identity for merge commits; where he has told git none, Drover's. */
async function identity(repository: Repository): Promise<GitPlace> {
  try {
    await repositoryGit(repository, ['var', 'GIT_COMMITTER_IDENT']);
    return {};
  } catch {
    const who = { NAME: 'Drover', EMAIL: 'drover@localhost' };
    const env: Record<string, string> = {};
    for (const role of ['AUTHOR', 'COMMITTER'])
      for (const [part, value] of Object.entries(who)) env[`GIT_${role}_${part}`] = value;
    return { env };
  }
}
