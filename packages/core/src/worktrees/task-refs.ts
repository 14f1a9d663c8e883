import { DroverError } from '../shared/errors.ts';
import { git } from './git.ts';
import { withRepositoryLock } from './locks.ts';
import { attemptRef, resultBranch, resultRef, snapshotRef, type TaskName } from './names.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { refuseCheckedOut } from './result.ts';
import { isAncestor, isMerged, readRef } from './revisions.ts';

/**
 * Deletes a task's branch and its attempts' refs. What is in no branch or tag of the user's is kept below
 * `refs/drover/snapshots`, so that no commit is lost. `expected` is the branch's value by the engine's books, null when there is none.
 *
 * All or nothing. Rejects with `branch_taken` when the branch was moved or is checked out. Returns the refs that were kept.
 */
export async function deleteTaskRefs(
  repo: Repository,
  name: TaskName,
  { expected }: { expected: string | null },
): Promise<{ kept: string[] }> {
  return await withRepositoryLock(repo, async () => {
    const doomed = await attemptRefs(repo, name);
    const branch = await readRef(repo, resultRef(name));
    if (branch !== null) {
      if (branch !== expected) throw moved(name);
      await refuseCheckedOut(repo, name);
      doomed.push({ ref: resultRef(name), oid: branch, keep: snapshotRef(name, 'result') });
    }
    const kept = await toKeep(repo, doomed);
    await transaction(repo, doomed, kept);
    return { kept: kept.map(({ keep }) => keep) };
  });
}

interface Doomed {
  ref: string;
  oid: string;
  /** Where its commits stay. */
  keep: string;
}

async function attemptRefs(repo: Repository, name: TaskName): Promise<Doomed[]> {
  const prefix = attemptRef(name, 1).slice(0, -1);
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', prefix];
  const lines = (await git(repositoryPlace(repo), args)).stdout.toString('utf8').split('\n').filter(Boolean);
  return lines.map((line) => {
    const [oid = '', ref = ''] = line.split(' ');
    return { ref, oid, keep: ref.replace('refs/drover/attempts/', 'refs/drover/snapshots/') };
  });
}

async function toKeep(repo: Repository, doomed: readonly Doomed[]): Promise<Doomed[]> {
  const kept: Doomed[] = [];
  for (const entry of doomed) {
    if (kept.some(({ oid }) => oid === entry.oid) || (await isMerged(repo, entry.oid))) continue;
    const keep = await placeToKeep(repo, entry);
    if (keep !== null) kept.push({ ...entry, keep });
  }
  return kept;
}

/** Null when the snapshot of that name contains the commit: one of changes lies on its attempt's commit. */
async function placeToKeep(repo: Repository, { oid, keep }: Doomed): Promise<string | null> {
  for (let n = 1; ; n++) {
    const ref = n === 1 ? keep : `${keep}-${n}`;
    const current = await readRef(repo, ref);
    if (current === null) return ref;
    if (await isAncestor(repo, oid, current)) return null;
  }
}

async function transaction(repo: Repository, doomed: readonly Doomed[], kept: readonly Doomed[]): Promise<void> {
  const commands = [
    ...kept.map(({ keep, oid }) => `create ${keep}\0${oid}\0`),
    ...doomed.map(({ ref, oid }) => `delete ${ref}\0${oid}\0`),
  ];
  await git(repositoryPlace(repo), ['update-ref', '-z', '--stdin'], { input: commands.join('') });
}

function moved(name: TaskName): DroverError {
  return new DroverError(
    'branch_taken',
    `the branch ${resultBranch(name)} has commits of its own`,
    'Rename it (`git branch -m`) if you want to keep it, or delete it yourself.',
  );
}
