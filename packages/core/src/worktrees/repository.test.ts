import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gitIdentity } from './identity.ts';
import { openRepository } from './repository.ts';
import { describeCommit, isMerged, readRef, resolveBase } from './revisions.ts';
import { codeOf } from './testing/errors.ts';
import { commitFiles, makeRepo, scratch, treeHashes, userGit } from './testing/repo.ts';

const root = scratch();

test('found from the checkout, a subdirectory, a link to it, inside .git', async () => {
  const user = makeRepo(join(root, 'some project'));
  symlinkSync(user, join(root, 'link'));
  const before = treeHashes(user);
  const opened = await Promise.all(
    ['', 'src', '../link/src', '.git/refs'].map((dir) => openRepository(join(user, dir))),
  );
  for (const repo of opened) {
    expect(repo).toMatchObject({ commonDir: join(user, '.git'), mainWorktree: user, objectFormat: 'sha1' });
    expect(repo.key).toMatch(/^some-project-[0-9a-f]{8}$/);
  }
  expect(treeHashes(user)).toEqual(before);
});

test('a linked worktree leads to the same repository, with its own HEAD', async () => {
  const user = makeRepo(join(root, 'linked'));
  const other = join(root, 'linked-other');
  userGit(user, 'worktree', 'add', '-q', '-b', 'topic', other);
  const tip = commitFiles(other, { 'x.txt': 'x' }, 'on topic');
  const repo = await openRepository(other);
  expect(repo.commonDir).toBe(join(user, '.git'));
  expect(repo.mainWorktree).toBe(user);
  expect(await resolveBase(repo, 'HEAD')).toBe(tip);
  expect(await resolveBase(await openRepository(user), 'HEAD')).not.toBe(tip);
});

test('a bare repository has no main checkout', async () => {
  const user = makeRepo(join(root, 'to-bare'));
  const bare = join(root, 'project.git');
  userGit(root, 'clone', '-q', '--bare', user, bare);
  expect(await openRepository(bare)).toMatchObject({ commonDir: bare, mainWorktree: null, name: 'project' });
});

test('a submodule and a git directory kept elsewhere know their checkouts', async () => {
  const user = makeRepo(join(root, 'super'));
  userGit(user, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', makeRepo(join(root, 'sub')), 'lib');
  expect(await openRepository(join(user, 'lib'))).toMatchObject({ mainWorktree: join(user, 'lib') });
  const apart = join(root, 'apart');
  userGit(root, 'init', '-q', `--separate-git-dir=${join(root, 'apart-git')}`, apart);
  expect(await openRepository(apart)).toMatchObject({ mainWorktree: apart, commonDir: join(root, 'apart-git') });
});

test('sha256', async () => {
  const user = join(root, 'sha256');
  mkdirSync(user);
  userGit(user, 'init', '-q', '--object-format=sha256');
  const oid = commitFiles(user, { a: 'a' }, 'first');
  const repo = await openRepository(user);
  expect(repo.objectFormat).toBe('sha256');
  expect(await resolveBase(repo, 'HEAD')).toBe(oid);
});

test('what is no repository, or one of a format not worked with, is refused by name', async () => {
  const plain = join(root, 'plain');
  mkdirSync(plain);
  expect(await codeOf(openRepository(plain))).toBe('not_a_repository');
  expect(await codeOf(openRepository(join(root, 'nowhere')))).toBe('not_a_repository');
  const reftable = makeRepo(join(root, 'reftable'));
  userGit(reftable, 'config', 'core.repositoryformatversion', '1');
  userGit(reftable, 'config', 'extensions.refstorage', 'reftable');
  const error = await openRepository(reftable).catch((e) => e);
  expect(error).toMatchObject({ code: 'repository_unsupported' });
  expect(error.message).toContain('refstorage');
  expect(error.hint).toContain('ref-format');
});

test('revisions: names, not options; nothing yet is said so', async () => {
  const user = makeRepo(join(root, 'revisions'));
  const repo = await openRepository(user);
  const head = userGit(user, 'rev-parse', 'HEAD');
  userGit(user, 'tag', '-a', '-m', 'x', 'v1');
  expect(await resolveBase(repo, 'v1')).toBe(head);
  expect(await resolveBase(repo, 'main^0')).toBe(head);
  for (const bad of ['nowhere', '--all', '', 'HEAD:a.txt', 'a\0b']) {
    expect(await codeOf(resolveBase(repo, bad))).toBe('unknown_revision');
  }
  mkdirSync(join(root, 'empty'));
  userGit(join(root, 'empty'), 'init', '-q');
  expect(await codeOf(resolveBase(await openRepository(join(root, 'empty')), 'HEAD'))).toBe('no_commits');
  expect(await describeCommit(repo, head)).toEqual({ short: head.slice(0, 7), subject: 'first' });
});

test("merged means: in a branch or tag that is not Drover's", async () => {
  const user = makeRepo(join(root, 'merged'));
  const repo = await openRepository(user);
  userGit(user, 'checkout', '-q', '-b', 'drover/p/t');
  const oid = commitFiles(user, { n: 'n' }, 'result');
  userGit(user, 'checkout', '-q', 'main');
  expect(await isMerged(repo, oid)).toBe(false);
  userGit(user, 'merge', '-q', 'drover/p/t');
  expect(await isMerged(repo, oid)).toBe(true);
  expect(await readRef(repo, 'refs/heads/drover/p/t')).toBe(oid);
  expect(await readRef(repo, 'heads/drover/p/t')).toBeNull();
});

test("the user's identity, else Drover's", async () => {
  const user = makeRepo(join(root, 'identity'));
  const repo = await openRepository(user);
  expect(await gitIdentity(repo)).toEqual({ name: 'Drover', email: 'drover@localhost' });
  userGit(user, 'config', 'user.name', 'Ünï Cøde');
  userGit(user, 'config', 'user.email', 'u@example.org');
  expect(await gitIdentity(repo)).toEqual({ name: 'Ünï Cøde', email: 'u@example.org' });
  userGit(user, 'config', 'user.name', '<>');
  expect((await gitIdentity(repo)).name).toBe('Drover');
});
