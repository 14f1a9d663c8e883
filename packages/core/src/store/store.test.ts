import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Store } from './store.ts';

const require = createRequire(import.meta.url);
let dir: string;
let path: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'drover-store-'));
  path = join(dir, 'drover.db');
});
afterEach(() => rm(dir, { recursive: true }));

it('keeps what was written, events in order', () => {
  const store = new Store(path);
  for (const text of ['a', 'b', 'c'])
    store.addEvent({ atMs: 1, kind: 'warning', ref: null, plan: text === 'b' ? 'other' : 'p', text, data: { text } });
  store.close();
  const again = new Store(path);
  expect(again.eventsAfter(1, 10).map((event) => event.text)).toEqual(['b', 'c']);
  expect(again.eventsAfter(0, 10, 'p').map((event) => event.data)).toEqual([{ text: 'a' }, { text: 'c' }]);
  expect(again.lastEventSeq()).toBe(3);
  again.trimEvents(1);
  expect(again.eventsAfter(0, 10).map((event) => event.text)).toEqual(['c']);
  again.close();
});

it('undoes all of a transaction that fails', () => {
  const store = new Store(path);
  const row = { key: 'k', name: 'n', common_dir: '/c', main_worktree: null };
  expect(() =>
    store.transaction(() => {
      store.saveRepository(row);
      throw new Error('no');
    }),
  ).toThrow('no');
  expect(store.repository('k')).toBeUndefined();
  store.saveRepository(row);
  store.saveRepository({ ...row, name: 'renamed' });
  expect(store.repository('k')?.name).toBe('renamed');
  store.close();
});

it('is refused to a second engine while the first one lives, and free once it is killed', async () => {
  const holder = spawn(process.execPath, [
    '-e',
    `const D = require(${JSON.stringify(require.resolve('better-sqlite3'))}); const d = new D(process.argv[1]);
     d.pragma('locking_mode = EXCLUSIVE'); d.pragma('journal_mode = WAL'); d.exec('BEGIN IMMEDIATE; COMMIT');
     console.log('held'); setInterval(() => {}, 1000);`,
    path,
  ]);
  await once(holder.stdout, 'data');
  expect(() => new Store(path)).toThrow(expect.objectContaining({ code: 'engine_running' }));
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  new Store(path).close();
});

it('of a newer version, or damaged, is refused by name and left as it was', async () => {
  new Store(path).close();
  const newer = new Sqlite(path);
  newer.pragma('user_version = 999');
  newer.close();
  expect(() => new Store(path)).toThrow(expect.objectContaining({ code: 'database_newer' }));
  const garbage = Buffer.alloc(8192, 'not a database ');
  await writeFile(path, garbage);
  expect(() => new Store(path)).toThrow(expect.objectContaining({ code: 'database_corrupt' }));
  expect((await readFile(path)).equals(garbage)).toBe(true);
});

it('that cannot be opened says so', () => {
  expect(() => new Store(join(dir, 'no', 'such', 'dir.db'))).toThrow(
    expect.objectContaining({ code: 'database_unusable' }),
  );
});
