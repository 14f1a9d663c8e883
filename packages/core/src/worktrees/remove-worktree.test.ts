import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createWorktree } from './create-worktree.ts';
import { removeTree } from './remove-tree.ts';
import { removeWorktree } from './remove-worktree.ts';
import { openRepository } from './repository.ts';
import { resolveBase } from './revisions.ts';
import { snapshotWorktree } from './snapshot.ts';
import { codeOf } from './testing/errors.ts';
import { makeRepo, scratch, treeHashes, userGit, writeFiles } from './testing/repo.ts';
import { makeAttempt } from './testing/sandbox.ts';

const root = scratch();
const AGENT = { uid: 61234, gid: 61234 };
const ref = 'refs/drover/snapshots/p/t/1';
const identity = { name: 'Drover', email: 'd@example.org' };

async function setUp(name: string, files?: Record<string, string>) {
  const user = makeRepo(join(root, name), files);
  const repo = await openRepository(user);
  const base = await resolveBase(repo, 'HEAD');
  const worktree = await createWorktree(repo, { path: join(root, `${name}-wt`), base });
  const options = { head: base, snapshotRef: ref, identity };
  return { user, repo, base, worktree, path: worktree.path, options };
}

test('changes are recorded before the deletion; ignored files are not', async () => {
  const { user, repo, base, worktree, path, options } = await setUp('dirty', {
    'a.txt': '1\n',
    'd/b.txt': '2\n',
    '.gitignore': '*.log\n',
  });
  const before = treeHashes(user, (at) => /^.git\/(worktrees|objects|refs\/drover)/.test(at));
  writeFiles(path, { 'a.txt': 'changed\n', 'new/ü\nx': 'new', 'x.log': 'ignored' });
  rmSync(join(path, 'd/b.txt'));
  symlinkSync('/etc/passwd', join(path, 'link'));
  const { oid, skipped } = await removeWorktree(repo, worktree, options);
  expect(skipped).toEqual([]);
  expect(userGit(user, 'rev-parse', ref)).toBe(oid);
  expect(userGit(user, 'log', '-1', '--format=%P', oid!)).toBe(base);
  expect(userGit(user, 'show', `${oid}:a.txt`)).toBe('changed');
  expect(userGit(user, 'ls-tree', '-rz', '--name-only', oid!).split('\0').filter(Boolean)).toEqual([
    '.gitignore',
    'a.txt',
    'link',
    'new/ü\nx',
  ]);
  expect(userGit(user, 'show', `${oid}:link`)).toBe('/etc/passwd');
  expect([existsSync(path), existsSync(join(user, '.git/worktrees'))]).toEqual([false, false]);
  expect(treeHashes(user, (at) => /^.git\/(worktrees|objects|refs\/drover)/.test(at))).toEqual(before);
  expect(await removeWorktree(repo, worktree, options)).toEqual({ oid: null, skipped: [] });
});

test("directories and links that took each other's place are recorded as they are", async () => {
  const { user, repo, worktree, path, options } = await setUp('replaced', { 'a/x': '1', b: '2', c: '3' });
  rmSync(join(path, 'a'), { recursive: true });
  symlinkSync('/etc', join(path, 'a'));
  rmSync(join(path, 'b'));
  writeFiles(path, { 'b/deep': 'deep' });
  const { oid } = await removeWorktree(repo, worktree, options);
  expect(userGit(user, 'ls-tree', '-r', '--format=%(objectmode) %(path)', oid!).split('\n')).toEqual([
    '120000 a',
    '100644 b/deep',
    '100644 c',
  ]);
  expect(existsSync('/etc/passwd')).toBe(true);
});

test('a change that keeps size and times is seen', async () => {
  const { user, repo, worktree, path, options } = await setUp('sly');
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const when = new Date(1_700_000_000_000);
  utimesSync(join(path, 'a.txt'), when, when);
  userGit(path, 'update-index', '--refresh');
  await new Promise((resolve) => setTimeout(resolve, 1100));
  writeFileSync(join(path, 'a.txt'), 'ONE\n');
  utimesSync(join(path, 'a.txt'), when, when);
  userGit(user, 'config', 'core.trustctime', 'false');
  const { oid } = await removeWorktree(repo, worktree, options);
  expect(userGit(user, 'show', `${oid}:a.txt`)).toBe('ONE');
});

test('nothing that an agent left makes the host run it or read outside; each canary would', async () => {
  const { user, repo, worktree, path, options } = await setUp('canaries', { 'a.txt': '1\n', 'sub/x': 'x\n' });
  const canary = (name: string): string => `touch ${root}/ran-${name}; cat`;
  userGit(user, 'config', 'filter.lfs.clean', canary('filter'));
  userGit(user, 'config', 'filter.lfs.process', canary('process'));
  userGit(user, 'config', 'filter.lfs.required', 'true');
  writeFiles(path, { '.gitattributes': '* filter=lfs\n', 'a.txt': 'changed\n' });
  // a nested repository with a monitor and filters of its own, one where files were tracked, one untracked
  for (const dir of ['sub', 'nested']) {
    mkdirSync(join(path, dir), { recursive: true });
    userGit(join(path, dir), 'init', '-q');
    writeFiles(join(path, dir), { y: 'y' });
    userGit(join(path, dir), 'add', '-A');
    userGit(join(path, dir), 'commit', '-qm', 'x');
    writeFiles(join(path, dir), { y: 'Y', '.gitattributes': '* filter=z\n' });
    userGit(join(path, dir), 'config', 'core.fsmonitor', canary(`monitor-${dir}`));
    userGit(join(path, dir), 'config', 'filter.z.clean', canary(`clean-${dir}`));
  }
  userGit(user, 'config', 'core.hooksPath', '.husky');
  writeFiles(path, { '.husky/post-index-change': `#!/bin/sh\ntouch ${root}/ran-hook\n` });
  chmodSync(join(path, '.husky/post-index-change'), 0o755);
  // its own .git file, which would lead into a directory with a config of the agent's
  userGit(root, 'init', '-q', 'agent-git');
  userGit(join(root, 'agent-git'), 'config', 'core.fsmonitor', canary('gitfile'));
  writeFileSync(join(path, '.git'), `gitdir: ${root}/agent-git/.git\n`);

  const { oid, skipped } = await removeWorktree(repo, worktree, options);
  expect([...treeHashes(root).keys()].filter((name) => name.startsWith('ran-'))).toEqual([]);
  expect(skipped).toContain('nested/');
  expect(userGit(user, 'cat-file', '-p', `${oid}:a.txt`)).toBe('changed');
  expect(existsSync(path)).toBe(false);
});

test('a nested repository that is recorded as a submodule is not entered', async () => {
  const { user, repo, base, worktree, path, options } = await setUp('gitlink');
  mkdirSync(join(path, 'mod'));
  userGit(join(path, 'mod'), 'init', '-q');
  userGit(join(path, 'mod'), 'commit', '-q', '--allow-empty', '-m', 'x');
  userGit(path, 'add', 'mod');
  userGit(path, 'commit', '-qm', 'gitlink');
  const head = userGit(path, 'rev-parse', 'HEAD');
  userGit(join(path, 'mod'), 'config', 'core.fsmonitor', `touch ${root}/ran-mod; cat`);
  writeFiles(join(path, 'mod'), { z: 'z' });
  expect(await removeWorktree(repo, worktree, { ...options, head })).toMatchObject({ oid: null });
  expect(existsSync(join(root, 'ran-mod'))).toBe(false);
  expect(userGit(user, 'cat-file', '-t', base)).toBe('commit');
});

test('pipes and unreadable files do not keep the rest from being recorded', async () => {
  const { user, repo, base, worktree, path } = await setUp('pipes', { 'a.txt': '1\n', p: 'file\n' });
  rmSync(join(path, 'p'));
  execFileSync('mkfifo', [join(path, 'p')]);
  execFileSync('mkfifo', [join(path, 'untracked-pipe')]);
  writeFiles(path, { new: 'n' });
  const { oid, skipped } = await snapshotWorktree(repo, { ...worktree, head: base, ref, message: 'm', identity });
  expect(skipped).toEqual(['p']);
  expect(userGit(user, 'ls-tree', '-r', '--name-only', oid!).split('\n')).toEqual(['a.txt', 'new', 'p']);
});

test('taken over and clean: no snapshot; the same changes twice: one', async () => {
  const { user, repo, base, worktree, path } = await setUp('twice');
  const options = { ...worktree, head: base, ref, message: 'm', identity };
  expect(await snapshotWorktree(repo, options)).toEqual({ oid: null, skipped: [] });
  writeFiles(path, { new: 'n' });
  const first = await snapshotWorktree(repo, options);
  expect(await snapshotWorktree(repo, options)).toEqual(first);
  writeFiles(path, { new: 'm' });
  const second = await snapshotWorktree(repo, options);
  expect(userGit(user, 'log', '--format=%H', ref).split('\n')).toContain(first.oid);
  expect(second.oid).not.toBe(first.oid);
});

test('a crash at any moment of the removal: it goes on from there', async () => {
  for (const state of ['moved', 'half deleted', 'deleted'] as const) {
    const { user, repo, worktree, path, options } = await setUp(`resume-${state.replace(' ', '-')}`);
    writeFiles(path, { new: 'n' });
    renameSync(path, `${path}.removing`);
    expect(await codeOf(createWorktree(repo, { path, base: options.head })), state).toBe('worktree_path_taken');
    if (state !== 'moved')
      await snapshotWorktree(repo, {
        id: worktree.id,
        path: `${path}.removing`,
        head: options.head,
        ref,
        message: 'm',
        identity,
      });
    const recorded = state === 'moved' ? null : userGit(user, 'rev-parse', ref);
    if (state === 'half deleted') rmSync(join(`${path}.removing`, 'src'), { recursive: true });
    if (state === 'deleted') rmSync(`${path}.removing`, { recursive: true });
    await removeWorktree(repo, worktree, options);
    expect(existsSync(`${path}.removing`), state).toBe(false);
    expect(existsSync(join(user, '.git/worktrees')), state).toBe(false);
    expect(userGit(user, 'show', `${ref}:new`), state).toBe('n');
    if (recorded) userGit(user, 'merge-base', '--is-ancestor', recorded, ref);
  }
});

test('files of another uid, and directories without any permission, go as well', async () => {
  const user = makeRepo(join(root, 'uid'));
  const attempt = await makeAttempt(root, user, { identity: AGENT });
  await attempt.agent('mkdir -p ro/deep; echo x >ro/deep/f; chmod 0 ro/deep; chmod 0555 ro; echo y >z');
  const { oid } = await removeWorktree(attempt.repo, attempt.worktree, {
    head: attempt.base,
    snapshotRef: ref,
    identity,
  });
  expect(userGit(user, 'show', `${oid}:z`)).toBe('y');
  expect(existsSync(attempt.worktree.path)).toBe(false);
});

test('links are removed and not followed; a mount stops the deletion', async () => {
  const tree = join(root, 'tree');
  const outside = join(root, 'outside');
  writeFiles(outside, { precious: 'p' });
  mkdirSync(join(tree, 'mnt'), { recursive: true });
  symlinkSync(outside, join(tree, 'link'));
  execFileSync('mount', ['--bind', outside, join(tree, 'mnt')]);
  try {
    expect(await codeOf(removeTree(tree))).toBe('worktree_busy');
  } finally {
    execFileSync('umount', [join(tree, 'mnt')]);
  }
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
  expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('p');
  cpSync(outside, tree, { recursive: true });
  await removeTree(tree);
  await removeTree(tree);
});
