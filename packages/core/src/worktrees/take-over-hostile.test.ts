import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { deflateSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { attemptRef } from './names.ts';
import { openRepository, type Repository } from './repository.ts';
import { takeOver } from './take-over.ts';
import { TakeOverError, type TakeOverReason } from './take-over-error.ts';
import { type Answer, endless, forge, forgeCommit, forgeTree, hostileInside, packOf } from './testing/hostile.ts';
import { makeRepo, scratch, treeHashes, userGit } from './testing/repo.ts';

const root = scratch();
const ref = attemptRef({ plan: 'p', task: 't' }, 1);
const maxBytes = 1024 * 1024;

let count = 0;
let user: string;
let repo: Repository;
let base: string;
/** Where the agent forges its objects: it knows the user's. */
let evil: string;
let before: Map<string, string>;

beforeEach(async () => {
  const dir = join(root, String(++count));
  user = makeRepo(join(dir, 'user'));
  repo = await openRepository(user);
  base = userGit(user, 'rev-parse', 'HEAD');
  evil = join(dir, 'evil.git');
  mkdirSync(evil);
  userGit(evil, 'init', '-q', '--bare');
  userGit(evil, 'fetch', '-q', user, 'main:main');
  before = treeHashes(user);
});

/** Takes over from a sandbox that says HEAD is `head` and sends `pack`; the host must be as it was. */
async function attack(head: string, pack: Answer | Buffer | Readable, timeoutMs = 20_000): Promise<TakeOverReason> {
  const answer = pack instanceof Buffer || pack instanceof Readable ? { stdout: pack } : pack;
  const inside = hostileInside((command) => (command === 'rev-parse' ? { stdout: `${head}\n` } : answer));
  const error = await takeOver(repo, inside, { base, ref, maxBytes, timeoutMs }).then(
    () => new Error('it was taken over'),
    (caught: unknown) => caught,
  );
  if (!(error instanceof TakeOverError)) throw error;
  expect(error.code).toBe('takeover_failed');
  expect(treeHashes(user)).toEqual(before);
  expect(inside.disconnected()).toBeGreaterThan(0);
  return error.reason;
}

const blobCommit = (name: string, mode: string, content: string, mutate: (tree: string) => string = (tree) => tree) => {
  const blob = forge(evil, 'blob', content);
  const tree = mutate(forgeTree(evil, [{ mode, name, oid: blob }]));
  const commit = forgeCommit(evil, tree, base);
  return { blob, tree, commit, pack: packOf(evil, [blob, tree, commit]) };
};

test('the forged packs are sound in themselves: an honest one is taken', async () => {
  const { commit, pack } = blobCommit('fine', '100644', 'x');
  const inside = hostileInside((command) => ({ stdout: command === 'rev-parse' ? `${commit}\n` : pack }));
  expect(await takeOver(repo, inside, { base, ref, maxBytes })).toMatchObject({ head: commit, commits: 1 });
  expect(userGit(user, 'rev-parse', ref)).toBe(commit);
});

test('HEAD that is no commit id', async () => {
  for (const head of [
    '',
    'HEAD',
    '--all',
    'x'.repeat(40),
    'A'.repeat(40),
    `${base} `,
    `${base}\n${base}`,
    '0'.repeat(40),
    base.slice(1),
  ]) {
    expect(await attack(head, Buffer.from('')), JSON.stringify(head)).toBe('bad_head');
  }
});

test('HEAD without end, and HEAD that never comes', async () => {
  const flood = hostileInside(() => ({ stdout: endless('a'), hangs: true }));
  await expect(takeOver(repo, flood, { base, ref, maxBytes })).rejects.toMatchObject({ reason: 'bad_head' });
  const silence = hostileInside(() => ({ stdout: new Readable({ read() {} }), hangs: true }));
  await expect(takeOver(repo, silence, { base, ref, maxBytes, timeoutMs: 200 })).rejects.toMatchObject({
    reason: 'bad_head',
  });
  expect(treeHashes(user)).toEqual(before);
});

test('garbage, nothing, and half a pack', async () => {
  const { commit, pack } = blobCommit('fine', '100644', 'x');
  const header = (objects: number): Buffer =>
    Buffer.from(`PACK\0\0\0\x02\0\0\0${String.fromCharCode(objects)}`, 'latin1');
  expect(await attack(commit, Buffer.from('garbage'.repeat(1000)))).toBe('rejected');
  expect(await attack(commit, Buffer.from(''))).toBe('rejected');
  expect(await attack(commit, header(5))).toBe('rejected');
  expect(await attack(commit, pack.subarray(0, pack.length - 5))).toBe('rejected');
  const flipped = Buffer.from(pack);
  flipped[20]! ^= 1;
  expect(await attack(commit, flipped)).toBe('rejected');
});

test('a stream without end: of garbage, inside a pack', async () => {
  const { commit } = blobCommit('fine', '100644', 'x');
  expect(await attack(commit, endless(Buffer.alloc(65536)))).toMatch(/^(rejected|too_large)$/);
  const hugeBlob = Buffer.from('PACK\0\0\0\x02\0\0\0\x01\xbf\xff\xff\xff\xff\x0f\x78\x01', 'latin1');
  const stored = Buffer.concat([Buffer.from([0x00, 0xff, 0xff, 0x00, 0x00]), Buffer.alloc(65535)]);
  expect(await attack(commit, endless(stored, hugeBlob))).toBe('too_large');
});

test('what goes on without end after a pack is not read', async () => {
  const { commit, pack } = blobCommit('fine', '100644', 'x');
  expect(await attack(commit, { stdout: endless(Buffer.alloc(65536), pack), hangs: true }, 1500)).toMatch(
    /^(timeout|too_large)$/,
  );
});

test('a stream that stalls, a command that never ends', async () => {
  const { commit, pack } = blobCommit('fine', '100644', 'x');
  expect(await attack(commit, { stdout: new Readable({ read() {} }), hangs: true }, 500)).toBe('timeout');
  expect(await attack(commit, { stdout: pack, hangs: true }, 500)).toBe('timeout');
});

test('a sandbox that fails, and one that goes away', async () => {
  const { commit, pack } = blobCommit('fine', '100644', 'x');
  expect(await attack(commit, { stdout: '', stderr: '\x1b[2Jfatal', code: 128 })).toBe('sandbox');
  expect(await attack(commit, { stdout: pack, code: 1 })).toBe('sandbox');
  expect(await attack(commit, { stdout: pack, breaks: true })).toBe('sandbox');
  const refusing = { ...hostileInside(() => ({})), exec: () => Promise.reject(new Error('gone')) };
  await expect(takeOver(repo, refusing, { base, ref, maxBytes })).rejects.toMatchObject({ code: 'takeover_failed' });
});

test('more than is accepted', async () => {
  const noise = randomBytes(2_000_000);
  const blob = forge(evil, 'blob', noise);
  const tree = forgeTree(evil, [{ mode: '100644', name: 'big', oid: blob }]);
  const commit = forgeCommit(evil, tree, base);
  expect(await attack(commit, packOf(evil, [blob, tree, commit]))).toBe('too_large');
});

test('HEAD that did not come, that is no commit, or whose objects did not come', async () => {
  const { commit, blob, tree, pack } = blobCommit('fine', '100644', 'x');
  const orphan = forgeCommit(evil, tree, forgeCommit(evil, tree));
  expect(await attack('1'.repeat(40), pack)).toBe('not_connected');
  expect(await attack(blob, pack)).toBe('not_connected');
  for (const missing of [[tree, commit], [blob, commit], [commit], [blob, tree, orphan]]) {
    expect(await attack(missing.at(-1)!, packOf(evil, missing))).toMatch(/^(rejected|not_connected)$/);
  }
});

test('trees with .git in them, under any spelling that some file system folds', async () => {
  for (const name of ['.git', '.GIT', 'git~1', '.git\u200c', '..', '.', 'a/b']) {
    const { commit, pack } = blobCommit(name, '100644', '[core]\n');
    expect(await attack(commit, pack), name).toBe('rejected');
  }
  const nested = blobCommit('.git', '40000', 'x', (tree) =>
    forgeTree(evil, [{ mode: '40000', name: 'deep', oid: tree }]),
  );
  const inner = forgeTree(evil, [{ mode: '100644', name: 'config', oid: nested.blob }]);
  const dotGit = forgeTree(evil, [{ mode: '40000', name: '.git', oid: inner }]);
  const commit = forgeCommit(evil, dotGit, base);
  expect(await attack(commit, packOf(evil, [nested.blob, inner, dotGit, commit]))).toBe('rejected');
});

test('.gitmodules that would run or write something', async () => {
  const modules = [
    '[submodule "../../x"]\n\tpath = x\n\turl = y\n',
    '[submodule "a"]\n\tpath = a\n\turl = -u./evil\n',
    '[submodule "a"]\n\tpath = -x\n\turl = y\n',
    '[submodule "a"]\n\tpath = a\n\turl = y\n\tupdate = !touch pwned\n',
  ];
  for (const text of modules) {
    const { commit, pack } = blobCommit('.gitmodules', '100644', text);
    expect(await attack(commit, pack), text).toBe('rejected');
  }
  const { commit, pack } = blobCommit('.gitmodules', '120000', '/etc/passwd');
  expect(await attack(commit, pack)).toBe('rejected');
});

test('a small pack whose delta claims more memory than there may be', async () => {
  // Two objects: a blob of 64 KiB, and a delta on it that says its result has 8 GiB.
  const source = Buffer.alloc(65536);
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
  const delta = Buffer.from([...varint(source.length), ...varint(8 * 1024 ** 3), 0x80]);
  const objectHeader = (type: number, size: number): number[] => {
    const first = (type << 4) | (size & 15);
    return size < 16 ? [first] : [first | 128, ...varint(size >> 4)];
  };
  const blob = Buffer.concat([Buffer.from(objectHeader(3, source.length)), deflateSync(source)]);
  const offset = blob.length;
  const encoded = offset < 128 ? [offset] : [((offset >> 7) - 1) | 128, offset & 127];
  const child = Buffer.concat([Buffer.from([...objectHeader(6, delta.length), ...encoded]), deflateSync(delta)]);
  const body = Buffer.concat([Buffer.from('PACK\0\0\0\x02\0\0\0\x02', 'latin1'), blob, child]);
  const pack = Buffer.concat([body, createHash('sha1').update(body).digest()]);
  const inside = hostileInside((command) => ({ stdout: command === 'rev-parse' ? `${'1'.repeat(40)}\n` : pack }));
  const error = await takeOver(repo, inside, { base, ref, maxBytes }).catch((caught: Error) => caught);
  expect(error).toMatchObject({ reason: 'rejected', message: expect.stringContaining('memory') });
  expect(treeHashes(user)).toEqual(before);
});

test('no quarantine is left behind by any of these', () => {
  const left = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('tmp_objdir'));
  expect(left).toEqual([]);
});

test('a million refs in the sandbox are not looked at', async () => {
  const { commit, pack } = blobCommit('fine', '100644', 'x');
  const asked: string[] = [];
  const inside = hostileInside((command) => {
    asked.push(command);
    return { stdout: command === 'rev-parse' ? `${commit}\n` : pack };
  });
  await takeOver(repo, inside, { base, ref, maxBytes });
  expect(asked).toEqual(['rev-parse', 'pack-objects']);
});
