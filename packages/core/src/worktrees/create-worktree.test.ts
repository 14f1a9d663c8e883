import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lockReason } from './admin-dir.ts';
import { createWorktree, findWorktree } from './create-worktree.ts';
import { removeWorktree } from './remove-worktree.ts';
import { openRepository } from './repository.ts';
import { resolveBase } from './revisions.ts';
import { codeOf } from './testing/errors.ts';
import { commitFiles, makeRepo, scratch, treeHashes, userGit, writeFiles } from './testing/repo.ts';

const root = scratch();
const identity = { name: 'T', email: 't@example.org' };
const removal = { snapshotRef: 'refs/drover/snapshots/p/t/1', identity };

async function setUp(name: string) {
  const user = makeRepo(join(root, name));
  const repo = await openRepository(user);
  return { user, repo, base: await resolveBase(repo, 'HEAD'), path: join(root, `${name}-wt`) };
}

test('a detached, locked checkout; the user only gains an administrative directory', async () => {
  const { user, repo, base, path } = await setUp('plain');
  writeFiles(join(user, '.git/hooks'), { 'post-checkout': `#!/bin/sh\ntouch ${root}/hook-ran\n` });
  userGit(user, 'config', 'core.fsmonitor', `touch ${root}/monitor-ran; false`);
  const before = treeHashes(user);
  const worktree = await createWorktree(repo, { path, base });
  expect(worktree).toEqual({ path, id: 'plain-wt' });
  expect(userGit(path, '-c', 'core.fsmonitor=false', 'status', '--porcelain=v2', '--branch')).toContain(
    'branch.head (detached)',
  );
  expect(readFileSync(join(user, '.git/worktrees/plain-wt/locked'), 'utf8')).toBe(`${lockReason(path)}\n`);
  expect(treeHashes(user, (at) => at === '.git/worktrees')).toEqual(before);
  expect(existsSync(join(root, 'hook-ran')) || existsSync(join(root, 'monitor-ran'))).toBe(false);
  await removeWorktree(repo, worktree, { head: base, ...removal });
  expect(treeHashes(user)).toEqual(before);
});

test('git names the administrative directory as it likes; the id is read, not assumed', async () => {
  const { repo, base, path } = await setUp('taken');
  const first = await createWorktree(repo, { path: join(path, 'x/wt'), base });
  const second = await createWorktree(repo, { path: join(path, 'y/wt'), base });
  expect([first.id, second.id]).toEqual(['wt', 'wt1']);
});

test('paths with spaces, quotes, newlines and any letter', async () => {
  const { user, repo, base, path } = await setUp('odd');
  const name = fc.string({
    unit: fc.constantFrom(' ', '"', "'", '\\', '\n', '\t', '$', ':', ',', 'ü', '漢', '-', '*', 'a'),
    minLength: 1,
    maxLength: 6,
  });
  const before = treeHashes(user);
  await fc.assert(
    fc.asyncProperty(name, async (odd) => {
      // git itself drops blanks at the end of the path that it notes down
      const at = join(path, `-${odd}x`);
      const worktree = await createWorktree(repo, { path: at, base });
      expect(await findWorktree(repo, at)).toEqual(worktree);
      expect(userGit(at, 'status', '--porcelain')).toBe('');
      expect(await removeWorktree(repo, worktree, { head: base, ...removal })).toEqual({ oid: null, skipped: [] });
      expect(existsSync(at)).toBe(false);
    }),
    { numRuns: 15 },
  );
  expect(treeHashes(user)).toEqual(before);
});

test('a finished one is given back untouched, also when an agent has worked in it', async () => {
  const { repo, base, path } = await setUp('again');
  const worktree = await createWorktree(repo, { path, base });
  writeFiles(path, { 'a.txt': 'agent', new: 'n' });
  const before = treeHashes(path);
  expect(await createWorktree(repo, { path, base })).toEqual(worktree);
  expect(treeHashes(path)).toEqual(before);
});

test('a crash at any moment: every half-made state is completed', async () => {
  const { user, repo, base, path } = await setUp('crash');
  const worktree = await createWorktree(repo, { path, base });
  const admin = join(user, '.git/worktrees', worktree.id);
  const complete = { admin: `${root}/crash-admin`, path: `${root}/crash-path` };
  cpSync(admin, complete.admin, { recursive: true });
  cpSync(path, complete.path, { recursive: true });
  const states: Record<string, () => void> = {
    'lock alone': () => {
      for (const name of readdirSync(admin)) if (name !== 'locked') rmSync(join(admin, name), { recursive: true });
      rmSync(path, { recursive: true });
    },
    'no files yet': () => {
      rmSync(path, { recursive: true });
      rmSync(join(admin, 'index'));
    },
    'some files': () => {
      rmSync(join(path, 'src'), { recursive: true });
      rmSync(join(admin, 'index'));
      writeFileSync(join(admin, 'index.lock'), 'half');
    },
    'removed by hand': () => rmSync(path, { recursive: true }),
    'half removed': () => rmSync(admin, { recursive: true }),
  };
  for (const [state, destroy] of Object.entries(states)) {
    destroy();
    if (state === 'half removed') {
      expect(await codeOf(createWorktree(repo, { path, base })), state).toBe('worktree_path_taken');
      rmSync(path, { recursive: true });
    }
    const again = await createWorktree(repo, { path, base });
    expect(userGit(path, 'status', '--porcelain'), state).toBe('');
    expect(again.id, state).toBe(worktree.id);
  }
});

test('the engine killed in the middle: its git dies with it, and the next engine completes the worktree', async () => {
  const { user, repo, path } = await setUp('killed');
  const files = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`f${n}`, `${n}`]));
  const base = commitFiles(user, { ...files, '.gitattributes': 'f* filter=slow\n' }, 'many');
  userGit(user, 'config', 'filter.slow.smudge', 'sleep 0.02; cat'); // eight seconds in all
  const load = (file: string): string => `(await runnerImport('${import.meta.dirname}/${file}')).module`;
  const code = `import { runnerImport } from 'vite';
    const repo = await ${load('repository.ts')}.openRepository(${JSON.stringify(user)});
    await ${load('create-worktree.ts')}.createWorktree(repo, ${JSON.stringify({ path, base })});`;
  const args = ['--input-type=module', '-e', code];
  const engine = spawn(process.execPath, args, { stdio: 'ignore', cwd: import.meta.dirname });
  while (!existsSync(join(path, 'f10'))) await delay(20);
  engine.kill('SIGKILL');
  await delay(200);
  const count = readdirSync(path).length;
  await delay(300);
  expect(readdirSync(path).length).toBe(count);
  expect(count).toBeLessThan(400);
  userGit(user, 'config', '--unset', 'filter.slow.smudge');
  await createWorktree(repo, { path, base });
  expect(userGit(path, 'status', '--porcelain')).toBe('');
});

test("somebody else's files and worktrees are refused", async () => {
  const { user, repo, base, path } = await setUp('foreign');
  userGit(user, 'worktree', 'add', '-q', '--detach', path);
  writeFiles(path, { precious: 'p' });
  expect(await codeOf(createWorktree(repo, { path, base }))).toBe('worktree_path_taken');
  expect(await codeOf(removeWorktree(repo, { path, id: 'foreign-wt' }, { head: base, ...removal }))).toBe(
    'worktree_not_ours',
  );
  userGit(user, 'worktree', 'lock', '--reason', 'drover', path);
  expect(await codeOf(removeWorktree(repo, { path, id: 'foreign-wt' }, { head: base, ...removal }))).toBe(
    'worktree_not_ours',
  );
  expect(await codeOf(removeWorktree(repo, { path, id: '../..' }, { head: base, ...removal }))).toBe(
    'worktree_not_ours',
  );
  expect(readFileSync(join(path, 'precious'), 'utf8')).toBe('p');
  mkdirSync(`${path}-full`);
  writeFileSync(join(`${path}-full`, 'x'), '');
  expect(await codeOf(createWorktree(repo, { path: `${path}-full`, base }))).toBe('worktree_path_taken');
});

test('twenty at once in one repository', async () => {
  const { user, repo, base, path } = await setUp('many');
  const before = treeHashes(user);
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, n) => createWorktree(repo, { path: `${path}/${n}/wt`, base })),
  );
  expect(new Set(made.map(({ id }) => id)).size).toBe(20);
  await Promise.all(made.map((worktree) => removeWorktree(repo, worktree, { head: base, ...removal })));
  expect(treeHashes(user)).toEqual(before);
});
