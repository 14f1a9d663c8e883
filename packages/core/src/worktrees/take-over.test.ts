import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { leadsOut } from './inspect.ts';
import { attemptRef } from './names.ts';
import { cleanQuarantines } from './quarantine.ts';
import { openRepository } from './repository.ts';
import { takeOver } from './take-over.ts';
import { codeOf } from './testing/errors.ts';
import { commitFiles, makeRepo, scratch, treeHashes, userGit } from './testing/repo.ts';
import { makeAttempt } from './testing/sandbox.ts';

const root = scratch();
const AGENT = { uid: 61234, gid: 61234 };
const ref = attemptRef({ plan: 'p', task: 't' }, 1);
const maxBytes = 64 * 1024 * 1024;

/** Everything of the user's but objects and Drover's own refs. */
const userPart = (git: string) => treeHashes(git, (at) => /^(objects|refs\/drover|worktrees)(\/|$)/.test(at));

test('commits come over, the ref is set, and nothing else of the user changes', async () => {
  const user = makeRepo(join(root, 'plain'));
  const attempt = await makeAttempt(root, user, { identity: AGENT });
  const before = userPart(join(user, '.git'));
  await attempt.agent('echo 1 >n1; git add -A; git commit -qm 1; echo more >>a.txt; git commit -qam 2; git gc -q');
  const taken = await takeOver(attempt.repo, attempt.inside, { base: attempt.base, ref, maxBytes });
  expect(taken).toMatchObject({ changed: true, commits: 2, descends: true, gitlinks: [], escapingLinks: [] });
  expect(taken.stat).toEqual({ files: 2, insertions: 2, deletions: 0 });
  expect(userGit(user, 'rev-parse', ref)).toBe(taken.head);
  expect(userGit(user, 'show', `${taken.head}:a.txt`)).toBe('one\nmore');
  expect(userGit(user, 'fsck', '--strict')).toBe('');
  expect(userPart(join(user, '.git'))).toEqual(before);
  expect(readdirSync(join(user, '.git/objects')).filter((name) => name.startsWith('tmp'))).toEqual([]);
});

test('again while the agent works on: only what is new comes, and a repetition changes nothing', async () => {
  const user = makeRepo(join(root, 'again'));
  const attempt = await makeAttempt(root, user);
  const { repo, inside, base } = attempt;
  await attempt.agent('echo 1 >n1; git add -A; git commit -qm 1');
  const first = await takeOver(repo, inside, { base, ref, maxBytes });
  await attempt.agent('echo 2 >n2; git add -A; git commit -qm 2; git rebase -q --root --exec true');
  const second = await takeOver(repo, inside, { base, ref, oldOid: first.head, maxBytes });
  expect(second.head).not.toBe(first.head);
  const before = treeHashes(join(user, '.git'), (at) => at.startsWith('objects/pack'));
  expect((await takeOver(repo, inside, { base, ref, oldOid: first.head, maxBytes })).head).toBe(second.head);
  expect(treeHashes(join(user, '.git'), (at) => at.startsWith('objects/pack'))).toEqual(before);
  await attempt.agent('git commit -q --allow-empty -m 3');
  expect(await codeOf(takeOver(repo, inside, { base, ref, oldOid: first.head, maxBytes }))).toBe('takeover_failed');
});

test('nothing done: nothing is written; reset to an older commit: no pack, and it is told', async () => {
  const user = makeRepo(join(root, 'none'));
  commitFiles(user, { x: 'x' }, 'second');
  const { repo, inside, base, git } = await makeAttempt(root, user);
  const before = treeHashes(join(user, '.git'));
  expect(await takeOver(repo, inside, { base, ref, maxBytes })).toMatchObject({
    changed: false,
    commits: 0,
    head: base,
  });
  expect(treeHashes(join(user, '.git'))).toEqual(before);
  await git('reset', '-q', '--hard', 'HEAD~1');
  expect(await takeOver(repo, inside, { base, ref, maxBytes })).toMatchObject({
    changed: true,
    commits: 0,
    descends: false,
  });
});

test('new submodule links and links that lead out are told', async () => {
  const user = makeRepo(join(root, 'links'));
  const attempt = await makeAttempt(root, user);
  await attempt.agent(`ln -s /etc/passwd abs; ln -s ../../x src/up; ln -s ../a.txt src/fine; ln -s .git/config cfg
    git init -q nested; git -C nested commit -q --allow-empty -m x; git add -A 2>/dev/null; git commit -qm links`);
  const taken = await takeOver(attempt.repo, attempt.inside, { base: attempt.base, ref, maxBytes });
  expect(taken.gitlinks).toEqual(['nested']);
  expect(taken.escapingLinks).toEqual(['abs -> /etc/passwd', 'cfg -> .git/config', 'src/up -> ../../x']);
});

test('sha256, bare and shallow repositories; one with an alternate', async () => {
  const source = makeRepo(join(root, 'source'));
  commitFiles(source, { s: 's' }, 'second');
  const sha256 = join(root, 'sha256');
  mkdirSync(sha256);
  userGit(sha256, 'init', '-q', '--object-format=sha256');
  commitFiles(sha256, { s: 's' }, 'first');
  userGit(root, 'clone', '-q', '--bare', source, 'bare.git');
  userGit(root, 'clone', '-q', '--depth=1', `file://${source}`, 'shallow');
  userGit(root, 'clone', '-q', '--shared', source, 'borrowing');
  for (const name of ['sha256', 'bare.git', 'shallow', 'borrowing']) {
    const checkout = join(root, name);
    const attempt = await makeAttempt(root, checkout, { identity: AGENT });
    const before = userPart(attempt.repo.commonDir);
    expect(await attempt.git('status', '--porcelain'), name).toBe('');
    await attempt.agent('echo new >>s; git commit -qam new; git gc -q');
    const taken = await takeOver(attempt.repo, attempt.inside, { base: attempt.base, ref, maxBytes });
    expect(taken, name).toMatchObject({ commits: 1, descends: true });
    expect(userGit(checkout, 'show', `${ref}:s`), name).toBe('snew');
    expect(userGit(checkout, 'fsck', '--strict'), name).toBe('');
    expect(userPart(attempt.repo.commonDir), name).toEqual(before);
  }
});

test('a partial clone, whose missing objects stay missing', async () => {
  const source = makeRepo(join(root, 'promisor'), { 'a.txt': 'one\n', 'old.bin': 'x'.repeat(1000) });
  userGit(source, 'rm', '-q', 'old.bin');
  commitFiles(source, { 'b.txt': 'b' }, 'second');
  userGit(source, 'config', 'uploadpack.allowFilter', 'true');
  userGit(source, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
  userGit(root, 'clone', '-q', '--filter=blob:none', `file://${source}`, 'partial');
  const attempt = await makeAttempt(root, join(root, 'partial'));
  expect(attempt.repo.partial).toBe(true);
  await attempt.agent('echo new >>a.txt; git commit -qam new');
  const taken = await takeOver(attempt.repo, attempt.inside, { base: attempt.base, ref, maxBytes });
  expect(taken).toMatchObject({ commits: 1 });
  expect(userGit(join(root, 'partial'), 'show', `${ref}:a.txt`)).toBe('one\nnew');
});

test('quarantines of dead engines are collected, living ones are not', async () => {
  const user = makeRepo(join(root, 'quarantine'));
  const repo = await openRepository(user);
  const make = (name: string): string => {
    const dir = join(user, '.git/objects', name);
    mkdirSync(join(dir, 'pack'), { recursive: true });
    writeFileSync(join(dir, 'pack/x'), 'x');
    return dir;
  };
  make('tmp_objdir-drover-4194303-dead');
  make('tmp_objdir-drover-garbage');
  make(`tmp_objdir-drover-${process.pid}-of-an-earlier-engine-of-this-number`);
  make('tmp_objdir-incoming-git');
  make('tmp_objdir-drover-1-alive');
  const old = make('tmp_objdir-drover-1-old');
  utimesSync(old, new Date(0), new Date(0));
  expect(await cleanQuarantines(repo)).toBe(4);
  const left = readdirSync(join(user, '.git/objects')).filter((name) => name.startsWith('tmp'));
  expect(left.sort()).toEqual(['tmp_objdir-drover-1-alive', 'tmp_objdir-incoming-git']);
});

test('which link targets lead out', () => {
  expect(leadsOut('a', 'b')).toBe(false);
  expect(leadsOut('d/a', '../b')).toBe(false);
  expect(leadsOut('d/e/a', '../../..')).toBe(true);
  expect(leadsOut('a', 'd/../../x')).toBe(true);
  expect(leadsOut('a', '/x')).toBe(true);
  expect(leadsOut('a', 'sub/.GIT/hooks')).toBe(true);
});
