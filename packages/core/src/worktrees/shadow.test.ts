import {
  existsSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Mount } from '../sandbox/types.ts';
import { createWorktree } from './create-worktree.ts';
import { gitInside } from './inside.ts';
import { giveTree } from './ownership.ts';
import { openRepository } from './repository.ts';
import { resolveBase } from './revisions.ts';
import { prepareShadow, removeShadow } from './shadow.ts';
import { orderMounts } from './shadow-mounts.ts';
import { commitFiles, makeLargeRepo, makeRepo, scratch, treeHashes, userGit, writeFiles } from './testing/repo.ts';
import { bwrapExec, makeAttempt, SELF } from './testing/sandbox.ts';

const root = scratch();

const AGENT = { uid: 61234, gid: 61234 };

for (const identity of [undefined, AGENT]) {
  test(`every common operation works inside, the user's .git stays byte for byte (${identity ? 'own uid' : 'same uid'})`, async () => {
    const user = makeRepo(join(root, `ops-${identity?.uid ?? 'self'}`));
    commitFiles(user, { 'c.txt': '3\n' }, 'second');
    userGit(user, 'branch', 'other', 'HEAD~1');
    userGit(user, 'tag', '-a', '-m', 'one', 'v1');
    const attempt = await makeAttempt(root, user, identity ? { identity } : {});
    const before = treeHashes(join(user, '.git'));
    const checkout = treeHashes(user, (path) => path === '.git');

    expect(await attempt.git('status', '--porcelain')).toBe('');
    expect(await attempt.git('symbolic-ref', 'HEAD')).toMatch(/^refs\/heads\/drover\/plan\//);
    await attempt.agent(`
      git log --oneline --all >/dev/null
      echo new >new.txt; git add new.txt; git commit -qm new
      echo more >>a.txt; git commit -qam more; git commit -q --amend -m 'more and more'
      echo wip >>a.txt; git stash -q; git stash pop -q; git checkout -q -- a.txt
      git tag v2; git tag -a -m two v3; git tag -d v2
      git branch topic; git branch -m topic topic2; git branch -D topic2
      git checkout -q -b side HEAD~1; echo side >side.txt; git add -A; git commit -qm side
      git checkout -q -; git merge -q --no-edit side
      git rebase -q main; git rebase -q --onto main HEAD~1
      git cherry-pick side >/dev/null 2>&1 || git cherry-pick --skip
      git revert --no-edit HEAD >/dev/null
      git reset -q --hard HEAD~1; git reset -q --soft HEAD~1; git commit -qm again
      echo junk >junk; git clean -fdxq; test ! -e junk
      git notes add -m note; git bisect start HEAD HEAD~1 >/dev/null; git bisect reset
      git mv c.txt d.txt; git commit -qm moved; git rm -q d.txt; git commit -qm removed
      git config user.note x; git worktree list; T=$(mktemp -d); git worktree add -q $T/elsewhere HEAD; git worktree remove $T/elsewhere; rmdir $T
      git gc -q --prune=now; git fsck --strict; git pack-refs --all; git reflog >/dev/null
      git show v1 >/dev/null; git diff main...HEAD >/dev/null; git blame a.txt >/dev/null
      git sparse-checkout list 2>/dev/null || true
      test -z "$(git status --porcelain)"
    `);
    expect(treeHashes(join(user, '.git'))).toEqual(before);
    expect(treeHashes(user, (path) => path === '.git')).toEqual(checkout);
    expect(userGit(user, 'fsck', '--strict')).toBe('');
    expect(userGit(user, 'status', '--porcelain')).toBe('');
  });
}

for (const identity of [SELF, AGENT])
  test(`uid ${identity.uid} sees neither the main checkout, nor another worktree, nor secrets, nor refs that are not its business`, async () => {
    // Not in /tmp, which a sandbox has for itself; where homes are closed to other users, the way there is built anew.
    const outside = mkdtempSync(join(userInfo().homedir, '.drover-test-'));
    onTestFinished(() => rmSync(outside, { recursive: true }));
    const user = makeRepo(join(outside, 'hidden'));
    writeFiles(user, { 'untracked-secret': 's' });
    userGit(user, 'worktree', 'add', '-q', join(outside, 'hidden-other'));
    userGit(user, 'remote', 'add', 'origin', 'https://ada:hunter2@example.org/x.git');
    userGit(user, 'config', 'http.extraheader', 'Authorization: hunter2');
    userGit(user, 'config', 'core.fsmonitor', 'hunter2');
    userGit(user, 'update-ref', 'refs/drover/attempts/p/x/1', 'HEAD');
    userGit(user, 'update-ref', 'refs/stash', 'HEAD');
    userGit(user, 'update-ref', 'refs/remotes/origin/main', 'HEAD');
    userGit(user, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main');
    userGit(user, 'branch', 'drover/p/x');
    symlinkSync('/etc/passwd', join(user, '.git/hooks/linked'));
    const first = await makeAttempt(outside, user, { name: 'hidden-first', identity });
    const attempt = await makeAttempt(outside, user, { name: 'hidden-second', identity });

    expect(await attempt.agent(`ls -A ${user}`)).toBe('.git');
    expect(await attempt.agent(`ls -A ${outside}/hidden-other`)).toBe('');
    await expect(attempt.agent(`ls ${first.worktree.path}`)).rejects.toThrow('No such file');
    await expect(attempt.agent(`ls ${first.shadowDir}`)).rejects.toThrow('No such file');
    expect(await attempt.agent(`grep -rl hunter2 ${user}/.git || true`)).toBe('');
    expect(await attempt.git('remote', 'get-url', 'origin')).toBe('https://example.org/x.git');
    expect((await attempt.git('for-each-ref', '--format=%(refname)')).split('\n')).toEqual([
      'refs/heads/drover/plan/hidden-second',
      'refs/heads/hidden-other',
      'refs/heads/main',
      'refs/remotes/origin/HEAD',
      'refs/remotes/origin/main',
    ]);
    expect(await attempt.git('symbolic-ref', 'refs/remotes/origin/HEAD')).toBe('refs/remotes/origin/main');
    expect(await attempt.agent(`readlink ${user}/.git/hooks/linked`)).toBe('/etc/passwd');
    for (const target of ['.git', `${user}/.git/base-objects`]) {
      await expect(attempt.agent(`mv ${target} moved`)).rejects.toThrow(/busy|Read-only|cross-device/i);
      await expect(attempt.agent(`echo x >${target}/../.git 2>/dev/null; echo x >.git`)).rejects.toThrow();
    }
    await expect(attempt.agent(`touch ${user}/.git/base-objects/x`)).rejects.toThrow('Read-only');
    expect(userGit(first.worktree.path, '-c', 'safe.directory=*', 'status', '--porcelain')).toBe('');
  });

test("a user's branch named drover does not stand in the way inside", async () => {
  const user = makeRepo(join(root, 'collision'));
  userGit(user, 'branch', 'drover');
  const attempt = await makeAttempt(root, user);
  await attempt.agent('git commit -q --allow-empty -m x; git pack-refs --all; git commit -q --allow-empty -m y');
  expect((await attempt.git('for-each-ref', '--format=%(refname)')).split('\n')).toHaveLength(2);
});

test('the index copied is fresh: the first status runs no filter, and the agent cannot write the original', async () => {
  const user = makeRepo(join(root, 'racy'));
  commitFiles(user, { '.gitattributes': '*.txt filter=count\n' }, 'attributes');
  userGit(user, 'config', 'filter.count.clean', `echo x >>${root}/cleaned; cat`);
  for (const identity of [undefined, AGENT]) {
    const attempt = await makeAttempt(root, user, identity ? { identity } : {});
    const index = join(user, '.git/worktrees', attempt.worktree.id, 'index');
    const copy = join(attempt.shadowDir, 'worktrees', attempt.worktree.id, 'index');
    expect(statSync(copy).ino).not.toBe(statSync(index).ino);
    const second = (path: string): number => Math.floor(statSync(path).mtimeMs / 1000);
    expect(second(copy)).toBeGreaterThan(second(join(attempt.worktree.path, 'a.txt')));
    rmSync(join(root, 'cleaned'), { force: true });
    expect(await attempt.git('status', '--porcelain')).toBe('');
    expect(existsSync(join(root, 'cleaned'))).toBe(false);
  }
});

test('prepared again: what the agent did stays; unfinished ones are made anew', async () => {
  const user = makeRepo(join(root, 'again'));
  const { repo, worktree, shadowDir, base, mounts, git } = await makeAttempt(root, user, { name: 'again-wt' });
  await git('commit', '-q', '--allow-empty', '-m', 'x');
  const head = await git('rev-parse', 'HEAD');
  const options = {
    worktree,
    shadowDir,
    branch: 'drover/plan/again-wt',
    base,
    identity: SELF,
    hide: [join(root, 'state')],
  };
  expect(await prepareShadow(repo, options)).toEqual(mounts);
  expect(await git('rev-parse', 'HEAD')).toBe(head);
  renameSync(shadowDir, `${shadowDir}.new`);
  writeFiles(`${shadowDir}.new`, { garbage: 'x' });
  await prepareShadow(repo, options);
  expect(await git('rev-parse', 'HEAD')).toBe(base);
  await removeShadow(shadowDir);
  await removeShadow(shadowDir);
  expect(existsSync(shadowDir)).toBe(false);
});

test("a worktree that an agent has used: no filter of the user's runs on its files, and its changes show inside", async () => {
  const user = makeRepo(join(root, 'used'));
  userGit(user, 'config', 'filter.evil.clean', `touch ${root}/used-ran; cat`);
  const { repo, worktree, shadowDir, base, agent, inside } = await makeAttempt(root, user, {
    name: 'used-wt',
    identity: AGENT,
  });
  await agent('echo "* filter=evil" >.gitattributes; echo changed >a.txt; touch src/b.txt; ln -s /etc/shadow s');
  await removeShadow(shadowDir);
  const next = { uid: 61235, gid: 61235 };
  const mounts = await prepareShadow(repo, {
    worktree,
    shadowDir,
    branch: 'drover/plan/used',
    base,
    identity: next,
    hide: [join(root, 'state')],
    used: true,
  });
  expect(existsSync(join(root, 'used-ran'))).toBe(false);
  expect(lstatSync(join(worktree.path, 's')).uid).toBe(next.uid);
  expect(statSync('/etc/shadow').uid).toBe(0);
  const again = { ...inside, exec: bwrapExec(mounts, next) };
  const status = await gitInside(again, ['-c', 'filter.evil.clean=cat', 'status', '--porcelain']);
  expect(status.split('\n').filter(Boolean)).toEqual([' M a.txt', '?? .gitattributes', '?? s']);
});

test('a planted hard link gives no foreign file away', async () => {
  const dir = join(root, 'planted');
  writeFiles(dir, { own: 'o', 'd/x': 'x' });
  writeFileSync(join(root, 'precious'), 'p');
  linkSync(join(root, 'precious'), join(dir, 'planted'));
  await giveTree(dir, AGENT);
  expect(statSync(join(root, 'precious')).uid).toBe(0);
  expect([statSync(dir).uid, statSync(join(dir, 'own')).uid, statSync(join(dir, 'd/x')).gid]).toEqual([
    AGENT.uid,
    AGENT.uid,
    AGENT.gid,
  ]);
});

test('mounts of several owners fit together: what lies above comes first, the empty one before the full one', () => {
  const dst = (path: string, kind: 'ro' | 'rw' | 'tmpfs'): Mount =>
    kind === 'tmpfs' ? { kind, dst: path } : { kind, src: '/s', dst: path };
  const ordered = orderMounts([
    dst('/h/p/.git', 'rw'),
    dst('/h', 'rw'),
    dst('/h/p', 'tmpfs'),
    dst('/h', 'tmpfs'),
    dst('/a b', 'ro'),
  ]);
  expect(ordered.map((mount) => `${mount.kind} ${mount.dst}`)).toEqual([
    'tmpfs /h',
    'rw /h',
    'ro /a b',
    'tmpfs /h/p',
    'rw /h/p/.git',
  ]);
});

test('5,000 files: made and prepared in seconds, the first status clean and quick', async () => {
  const user = makeLargeRepo(join(root, 'large'), 5000);
  for (const identity of [SELF, AGENT]) {
    const repo = await openRepository(user);
    const base = await resolveBase(repo, 'HEAD');
    const [path, shadowDir] = [join(root, `large-wt-${identity.uid}`), join(root, `large-shadow-${identity.uid}`)];
    const began = performance.now();
    const worktree = await createWorktree(repo, { path, base });
    const created = performance.now();
    const mounts = await prepareShadow(repo, { worktree, shadowDir, branch: 'drover/p/t', base, identity });
    const prepared = performance.now();
    const inside = { exec: bwrapExec(mounts, identity), cwd: path, env: { PATH: process.env.PATH ?? '' } };
    expect(await gitInside(inside, ['status', '--porcelain'])).toBe('');
    const [create, prepare, status] = [created - began, prepared - created, performance.now() - prepared].map(
      Math.round,
    );
    console.log(`uid ${identity.uid}: create ${create} ms, prepare ${prepare} ms, first status ${status} ms`);
  }
});
