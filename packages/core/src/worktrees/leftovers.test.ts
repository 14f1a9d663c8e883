import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitLeftovers, leftovers } from './leftovers.ts';
import type { RepairPlace } from './repair.ts';
import { makeRepo, scratch, treeHashes } from './testing/repo.ts';
import { bwrapExec, makeAttempt, SELF, type TestAttempt } from './testing/sandbox.ts';

const root = scratch();
const options = { message: 'leftovers\n', identity: { name: 'Drover', email: 'd@example.org' } };
const AGENT = { uid: 61234, gid: 61234 };

const place = ({ repo, worktree, base }: TestAttempt): RepairPlace => ({
  commonDir: repo.commonDir,
  shadow: true,
  id: worktree.id,
  worktree: worktree.path,
  base,
});

let count = 0;

async function attemptOn(script: string): Promise<TestAttempt> {
  const user = makeRepo(join(root, `r${++count}`), { 'a.txt': 'one\n', 'src/b.txt': 'two\n', '.gitignore': '*.log\n' });
  const attempt = await makeAttempt(root, user, { identity: AGENT });
  await attempt.agent(script);
  return attempt;
}

test('nothing to commit', async () => {
  const attempt = await attemptOn('echo x >ignored.log; touch a.txt');
  expect(await leftovers(attempt.inside, place(attempt))).toEqual({
    head: attempt.base,
    dirty: false,
    operation: null,
    repaired: false,
  });
  expect(await commitLeftovers(attempt.inside, place(attempt), options)).toMatchObject({
    committed: false,
    head: attempt.base,
  });
});

test('changed, new, deleted and renamed files, with the given message and identity, without hooks', async () => {
  const attempt = await attemptOn(`
    H=$(git rev-parse --git-common-dir)/hooks; for h in pre-commit commit-msg post-commit reference-transaction post-index-change; do
      printf '#!/bin/sh\\ntouch hook-ran; exit 1\\n' >$H/$h; chmod +x $H/$h; done
    echo more >>a.txt; mkdir -p 'new dir'; echo n >"new dir/ü
x"; mv src/b.txt src/c.txt; echo x >ignored.log`);
  const result = await commitLeftovers(attempt.inside, place(attempt), options);
  expect(result).toMatchObject({ committed: true, dirty: true, skipped: [] });
  expect(result.head).toBe(await attempt.git('rev-parse', 'HEAD'));
  expect(await attempt.git('log', '-1', '--format=%an %ae %s %P')).toBe(
    `Drover d@example.org leftovers ${attempt.base}`,
  );
  expect((await attempt.git('ls-tree', '-r', '-z', '--name-only', 'HEAD')).split('\0').filter(Boolean)).toEqual([
    '.gitignore',
    'a.txt',
    'new dir/ü\nx',
    'src/c.txt',
  ]);
});

/** Each leaves `wanted.txt`, not committed, and git in a state of its own. */
const STATES: Record<string, { script: string; operation?: string; repaired?: boolean }> = {
  'detached HEAD': { script: 'git checkout -q --detach; echo w >wanted.txt' },
  'another branch': { script: 'git checkout -q -b mine; echo w >wanted.txt' },
  'a merge with conflicts': {
    operation: 'merge',
    script: `git checkout -q -b x; echo x >a.txt; git commit -qam x; git checkout -q -; echo y >a.txt; git commit -qam y
      git merge -q x || true; echo w >wanted.txt`,
  },
  'a rebase that stopped': {
    operation: 'rebase',
    script: `git checkout -q -b x; echo x >a.txt; git commit -qam x; git checkout -q -; echo y >a.txt; git commit -qam y
      git rebase -q x 2>/dev/null || true; echo w >wanted.txt`,
  },
  'a cherry-pick that stopped': {
    operation: 'cherry-pick',
    script: `git checkout -q -b x; echo x >a.txt; git commit -qam x; git checkout -q -; echo y >a.txt; git commit -qam y
      git cherry-pick x 2>/dev/null || true; echo w >wanted.txt`,
  },
  'a bisect': {
    operation: 'bisect',
    script: 'git commit -q --allow-empty -m 1; git bisect start HEAD HEAD~1 >/dev/null; echo w >wanted.txt',
  },
  'lock files of a killed git': {
    script:
      'D=$(git rev-parse --git-dir); touch $D/index.lock $D/HEAD.lock; touch $(git rev-parse --git-common-dir)/packed-refs.lock; echo w >wanted.txt',
  },
  'an index of garbage': {
    repaired: true,
    script: 'echo garbage >$(git rev-parse --git-dir)/index; echo w >wanted.txt',
  },
  'an index that is a directory': {
    repaired: true,
    script: 'I=$(git rev-parse --git-dir)/index; rm $I; mkdir $I; echo w >wanted.txt',
  },
  'no refs': {
    repaired: true,
    script: 'C=$(git rev-parse --git-common-dir); rm -rf $C/refs $C/packed-refs; echo w >wanted.txt',
  },
  'HEAD of garbage': {
    repaired: true,
    script: 'head -c 100 /dev/urandom >$(git rev-parse --git-dir)/HEAD; echo w >wanted.txt',
  },
  'config of garbage': {
    repaired: true,
    script: 'echo "[[[" >$(git rev-parse --git-common-dir)/config; echo w >wanted.txt',
  },
  'an emptied git directory': {
    repaired: true,
    script:
      'C=$(git rev-parse --git-common-dir); echo w >wanted.txt; find $C -mindepth 1 -maxdepth 1 ! -name base-objects -exec rm -rf {} +',
  },
  'an unborn branch': { repaired: true, script: 'git checkout -q --orphan empty; echo w >wanted.txt' },
};

for (const [state, { script, operation = null, repaired = false }] of Object.entries(STATES)) {
  test(`work is saved in spite of ${state}`, async () => {
    const attempt = await attemptOn(script);
    const git = treeHashes(attempt.repo.commonDir);
    const result = await commitLeftovers(attempt.inside, place(attempt), options);
    expect(result).toMatchObject({ committed: true, operation: operation ?? result.operation, repaired });
    if (!repaired) expect(result.operation).toBe(operation);
    expect(await attempt.git('show', `${result.head}:wanted.txt`)).toBe('w');
    expect(await attempt.git('rev-parse', 'HEAD')).toBe(result.head);
    expect(await attempt.git('merge-base', attempt.base, result.head)).toBe(attempt.base);
    expect(treeHashes(attempt.repo.commonDir)).toEqual(git);
  });
}

test('a merge whose conflicts are resolved stays a merge', async () => {
  const attempt =
    await attemptOn(`git checkout -q -b x; echo x >a.txt; git commit -qam x; git checkout -q -; echo y >a.txt
    git commit -qam y; git merge -q x || true; echo xy >a.txt; git add a.txt`);
  const { head } = await commitLeftovers(attempt.inside, place(attempt), options);
  expect((await attempt.git('log', '-1', '--format=%P', head)).split(' ')).toHaveLength(2);
});

test('what cannot be added is told, and keeps nothing else from being saved', async () => {
  const attempt = await attemptOn(`echo w >wanted.txt; mkdir nested; git -C nested init -q
    mkdir full; git -C full init -q; git -C full commit -q --allow-empty -m x; echo s >secret; chmod 0 secret`);
  const result = await commitLeftovers(attempt.inside, place(attempt), options);
  expect(result.committed).toBe(true);
  expect(result.skipped).toContain('secret');
  expect(await attempt.git('show', 'HEAD:wanted.txt')).toBe('w');
});

test("without a shadow directory the user's git directory is not repaired", async () => {
  const { repo, worktree, base, inside } = await makeAttempt(root, makeRepo(join(root, 'basic')));
  const lock = join(repo.commonDir, 'packed-refs.lock');
  writeFileSync(lock, '');
  writeFileSync(join(worktree.path, 'w'), 'w');
  const basic = { ...inside, exec: bwrapExec([], SELF) };
  const at = { commonDir: repo.commonDir, shadow: false, id: worktree.id, worktree: worktree.path, base };
  expect(await commitLeftovers(basic, at, options)).toMatchObject({ committed: true });
  expect(existsSync(lock)).toBe(true);
});
