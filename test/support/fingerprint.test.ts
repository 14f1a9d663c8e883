import { appendFileSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { differences, fingerprint } from './fingerprint.ts';
import { currentMark } from './mark.ts';
import { createRepository, type Repository } from './repository.ts';

const directory = mkdtempSync(join(tmpdir(), `${currentMark()}-`));
const env = {
  PATH: process.env.PATH,
  HOME: directory,
  GIT_AUTHOR_NAME: 'S',
  GIT_AUTHOR_EMAIL: 's@example.invalid',
  GIT_COMMITTER_NAME: 'S',
  GIT_COMMITTER_EMAIL: 's@example.invalid',
};
let repository: Repository;

beforeAll(async () => {
  repository = await createRepository(join(directory, 'r'), env, { files: 300 });
  await repository.makeLivedIn();
});
afterAll(() => rmSync(directory, { recursive: true }));

async function changedBy(act: () => unknown): Promise<string[]> {
  const before = fingerprint(repository.path);
  await act();
  return differences(before, fingerprint(repository.path)).map((line) => line.split(':')[0]!);
}

test('nothing done, nothing different', async () => {
  expect(await changedBy(() => {})).toEqual([]);
});

test('new objects and branches of Drover are no difference', async () => {
  expect(await changedBy(() => repository.git('update-ref', 'refs/heads/drover/plan/task', 'main'))).toEqual([]);
});

test('a branch of any other name is one', async () => {
  const changed = await changedBy(() => repository.git('update-ref', 'refs/heads/droverish', 'main'));
  expect(changed).toContain('.git/refs/heads/droverish');
});

test('a file, its time, and the config are looked at', async () => {
  expect(await changedBy(() => appendFileSync(join(repository.path, 'notes.txt'), '!'))).toEqual(['notes.txt']);
  expect(await changedBy(() => utimesSync(join(repository.path, '.git/index'), 1, 1))).toEqual(['.git/index']);
  expect(await changedBy(() => repository.git('config', 'drover.seen', 'yes'))).toEqual(['.git/config']);
});
