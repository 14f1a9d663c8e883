import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRepository } from './repository.ts';
import { setResult } from './result.ts';
import { deleteTaskRefs } from './task-refs.ts';
import { codeOf } from './testing/errors.ts';
import { commitFiles, makeRepo, scratch, treeHashes, userGit } from './testing/repo.ts';

const root = scratch();
const name = { plan: 'p', task: 't' };

/** Two commits that are in no branch of the user's. */
async function setUp(dir: string) {
  const user = makeRepo(join(root, dir));
  userGit(user, 'checkout', '-q', '--detach');
  const one = commitFiles(user, { n: '1' }, 'one');
  const two = commitFiles(user, { n: '2' }, 'two');
  userGit(user, 'checkout', '-q', 'main');
  return { user, repo: await openRepository(user), one, two };
}

test('the branch is made, moved from its known value, and set again without effect', async () => {
  const { user, repo, one, two } = await setUp('plain');
  expect(await setResult(repo, name, { oid: one, expectedOld: null })).toEqual({ branch: 'drover/p/t' });
  await setResult(repo, name, { oid: two, expectedOld: one });
  await setResult(repo, name, { oid: two, expectedOld: one });
  expect(userGit(user, 'rev-parse', 'drover/p/t')).toBe(two);
});

test("a branch that is the user's own is never moved", async () => {
  const { user, repo, one, two } = await setUp('own');
  userGit(user, 'branch', 'drover/p/t', one);
  expect(await codeOf(setResult(repo, name, { oid: two, expectedOld: null }))).toBe('branch_taken');
  await setResult(repo, name, { oid: one, expectedOld: null });
  userGit(user, 'checkout', '-q', 'drover/p/t');
  expect(await codeOf(setResult(repo, name, { oid: two, expectedOld: one }))).toBe('branch_taken');
  commitFiles(user, { mine: 'm' }, 'mine');
  userGit(user, 'checkout', '-q', 'main');
  expect(await codeOf(setResult(repo, name, { oid: two, expectedOld: one }))).toBe('branch_taken');
  expect(await codeOf(deleteTaskRefs(repo, name, { expected: one }))).toBe('branch_taken');
});

test('branches in the way are named', async () => {
  for (const branch of ['drover', 'drover/p', 'drover/p/t/x']) {
    const { user, repo, one } = await setUp(`collision-${branch.replaceAll('/', '-')}`);
    userGit(user, 'branch', branch);
    const before = treeHashes(user);
    const error = await setResult(repo, name, { oid: one, expectedOld: null }).catch((caught) => caught);
    expect(error, branch).toMatchObject({ code: 'branch_taken' });
    expect(error.hint).not.toBe('');
    expect(treeHashes(user)).toEqual(before);
  }
});

test('deleted refs leave their commits below refs/drover/snapshots, unless they are merged', async () => {
  const { user, repo, one, two } = await setUp('delete');
  await setResult(repo, name, { oid: two, expectedOld: null });
  userGit(user, 'update-ref', 'refs/drover/attempts/p/t/1', one);
  userGit(user, 'update-ref', 'refs/drover/attempts/p/t/2', two);
  userGit(user, 'update-ref', 'refs/drover/attempts/p/t2/1', two);
  const { kept } = await deleteTaskRefs(repo, name, { expected: two });
  expect(kept).toEqual(['refs/drover/snapshots/p/t/1', 'refs/drover/snapshots/p/t/2']);
  expect(userGit(user, 'for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/drover').split('\n')).toEqual([
    'refs/drover/attempts/p/t2/1',
    ...kept,
    'refs/heads/main',
  ]);
  await setResult(repo, name, { oid: two, expectedOld: null });
  userGit(user, 'merge', '-q', two);
  expect(await deleteTaskRefs(repo, name, { expected: two })).toEqual({ kept: [] });
  expect(await deleteTaskRefs(repo, name, { expected: null })).toEqual({ kept: [] });
});

test('a snapshot of something else under that number does not stand for the commit', async () => {
  const { user, repo, one, two } = await setUp('number');
  userGit(user, 'update-ref', 'refs/drover/snapshots/p/t/1', one);
  userGit(user, 'update-ref', 'refs/drover/attempts/p/t/1', two);
  expect(await deleteTaskRefs(repo, name, { expected: null })).toEqual({ kept: ['refs/drover/snapshots/p/t/1-2'] });
  expect(userGit(user, 'rev-parse', 'refs/drover/snapshots/p/t/1-2')).toBe(two);
});
