import { join } from 'node:path';
import { expect, test } from 'vitest';
import { diff } from './diff.ts';
import { mergeResults } from './merge.ts';
import { openRepository } from './repository.ts';
import { commitFiles, makeRepo, scratch, treeHashes, userGit, writeFiles } from './testing/repo.ts';

const root = scratch();
const options = { message: 'Merge results\n', identity: { name: 'Drover', email: 'drover@localhost' } };

async function branches(name: string, changes: Record<string, Record<string, string>>) {
  const user = makeRepo(join(root, name));
  const tips: Record<string, string> = {};
  for (const [branch, files] of Object.entries(changes)) {
    userGit(user, 'checkout', '-q', '-b', branch, 'main');
    tips[branch] = commitFiles(user, files, branch);
  }
  userGit(user, 'checkout', '-q', 'main');
  return { user, repo: await openRepository(user), tips };
}

test('one commit is taken as it stands; so is one that contains the others', async () => {
  const { user, repo, tips } = await branches('single', { x: { x: '1' } });
  const main = userGit(user, 'rev-parse', 'main');
  expect(await mergeResults(repo, [main], options)).toEqual({ oid: main });
  expect(await mergeResults(repo, [main, tips.x!, main], options)).toEqual({ oid: tips.x });
});

test('several are merged in order, the same way each time, and no file or index of the user changes', async () => {
  const { user, repo, tips } = await branches('several', { x: { x: '1' }, y: { y: '2' }, z: { 'src/b.txt': 'z\n' } });
  const before = treeHashes(user, (at) => at.startsWith('.git/objects'));
  const merged = await mergeResults(repo, [tips.x!, tips.y!, tips.z!], options);
  if (!('oid' in merged)) throw new Error('conflict');
  expect(userGit(user, 'ls-tree', '-r', '--name-only', merged.oid).split('\n')).toEqual([
    'a.txt',
    'src/b.txt',
    'x',
    'y',
  ]);
  expect(userGit(user, 'log', '-1', '--format=%an %P', merged.oid)).toContain(`Drover `);
  expect(userGit(user, 'log', '-1', '--format=%P', merged.oid)).toContain(tips.z);
  expect(treeHashes(user, (at) => at.startsWith('.git/objects'))).toEqual(before);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  expect(await mergeResults(repo, [tips.x!, tips.y!, tips.z!], options)).toEqual(merged);
});

test('a conflict says between whom and in which files', async () => {
  const { repo, tips } = await branches('conflict', {
    x: { 'a.txt': 'x\n', 'ü y': 'x' },
    y: { 'a.txt': 'y\n', 'ü y': 'y' },
  });
  const merged = await mergeResults(repo, [tips.x!, tips.y!], options);
  expect(merged).toEqual({ conflict: { between: [tips.x, tips.y], paths: ['a.txt', 'ü y'] } });
});

test('histories that have nothing in common conflict without paths', async () => {
  const { user, repo, tips } = await branches('unrelated', { x: { x: 'x' } });
  userGit(user, 'checkout', '-q', '--orphan', 'other');
  const other = commitFiles(user, { o: 'o' }, 'other');
  expect(await mergeResults(repo, [tips.x!, other], options)).toEqual({
    conflict: { between: [tips.x, other], paths: [] },
  });
});

test("a merge driver of the user's does not run on an agent's content", async () => {
  const attributes = { '.gitattributes': '* merge=evil\n' };
  const { user, repo, tips } = await branches('driver', {
    x: { ...attributes, 'a.txt': 'x\n' },
    y: { ...attributes, 'a.txt': 'y\n' },
  });
  userGit(user, 'config', 'merge.evil.driver', `touch ${root}/driver-ran; true`);
  commitFiles(user, attributes, 'attributes in the checkout too');
  writeFiles(user, { '.git/info/attributes': '* merge=evil\n' });
  expect(await mergeResults(repo, [tips.x!, tips.y!], options)).toHaveProperty('conflict');
  expect(treeHashes(root).has('driver-ran')).toBe(false);
});

test('differences are text, cut off where they grow too long, and run nothing', async () => {
  const { user, repo, tips } = await branches('diff', { x: { 'a.txt': 'x\n', big: 'line\n'.repeat(10_000) } });
  userGit(user, 'config', 'diff.external', `touch ${root}/external-ran`);
  userGit(user, 'config', 'core.pager', `touch ${root}/pager-ran`);
  const main = userGit(user, 'rev-parse', 'main');
  expect((await diff(repo, main, tips.x!)).text).toContain('-one\n+x\n');
  expect(await diff(repo, main, tips.x!, { maxBytes: 1000 })).toMatchObject({ truncated: true });
  expect((await diff(repo, main, tips.x!, { stat: true })).text).toContain('2 files changed');
  expect([...treeHashes(root).keys()].filter((name) => name.endsWith('-ran'))).toEqual([]);
});
