import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { git } from './git.ts';
import { type Repository, repositoryGit } from './repository.ts';
import { snapshotRef } from './results.ts';

export interface SnapshotInput {
  path: string;
  /** What is known to be safe: a worktree like this commit needs no snapshot. */
  head: string;
  plan: string;
  task: string;
}

/**
 * Saves what a worktree holds beyond `head`, tracked and untracked, as a commit under `refs/drover/snapshots/`. Answers it, or null when
 * there was nothing. An index of its own is built from `head`, and no filter of the user's is run: index, configuration and attributes in
 * the worktree are the agent's, and the host does not follow them.
 */
export async function snapshotWorktree(repository: Repository, input: SnapshotInput): Promise<string | null> {
  if (!(await stat(input.path).catch(() => null))) return null;
  const scratch = await mkdtemp(join(tmpdir(), 'drover-snapshot-'));
  try {
    const place = {
      gitDir: repository.commonDir,
      workTree: input.path,
      index: join(scratch, 'index'),
    };
    const silent = await withoutFilters(repository);
    await git([...silent, 'read-tree', input.head], place);
    await git([...silent, 'add', '--all', '--ignore-errors', '.'], place).catch(async (error) => {
      // Some file could not be read, e.g. a socket or one of another owner: the others are in.
      if (error.exitCode !== 1) throw error;
    });
    const tree = await git([...silent, 'write-tree'], place);
    if (tree === (await repositoryGit(repository, ['rev-parse', `${input.head}^{tree}`]))) return null;
    const message = `What ${input.plan}/${input.task} left uncommitted`;
    const who = {
      GIT_AUTHOR_NAME: 'Drover',
      GIT_AUTHOR_EMAIL: 'drover@localhost',
      GIT_COMMITTER_NAME: 'Drover',
      GIT_COMMITTER_EMAIL: 'drover@localhost',
    };
    const oid = await repositoryGit(repository, ['commit-tree', tree, '-p', input.head, '-m', message], { env: who });
    await repositoryGit(repository, ['update-ref', snapshotRef(input.plan, input.task, oid), oid]);
    return oid;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Every filter that the user has configured is turned off by name: `.gitattributes` of the agent could call any of them. */
async function withoutFilters(repository: Repository): Promise<string[]> {
  const listed = await repositoryGit(repository, ['config', '--list', '--name-only', '-z']);
  const names = new Set(
    listed
      .split('\0')
      .map((key) => /^filter\.(.+)\.(clean|smudge|process|required)$/.exec(key)?.[1])
      .filter((name) => name !== undefined),
  );
  return [...names].flatMap((name) =>
    ['clean=', 'process=', 'required=false'].flatMap((setting) => ['-c', `filter.${name}.${setting}`]),
  );
}
