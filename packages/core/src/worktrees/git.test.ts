import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { git, gitCapped, gitLine } from './git.ts';
import { GitError } from './git-error.ts';
import { printable } from './printable.ts';
import { codeOf } from './testing/errors.ts';
import { makeRepo, scratch, userGit } from './testing/repo.ts';

const root = scratch();
const user = makeRepo(join(root, 'repo'));
const place = { gitDir: join(user, '.git') };

afterEach(() => {
  for (const name of Object.keys(process.env))
    if (/^GIT_(DIR|CONFIG_COUNT|CONFIG_KEY|CONFIG_VALUE)/.test(name)) delete process.env[name];
});

test('GIT_* of the caller steers nothing', async () => {
  process.env.GIT_DIR = '/nonexistent';
  process.env.GIT_CONFIG_COUNT = '1';
  process.env.GIT_CONFIG_KEY_0 = 'user.name';
  process.env.GIT_CONFIG_VALUE_0 = 'Mallory';
  expect(await gitLine(place, ['rev-parse', '--verify', 'HEAD'])).toMatch(/^[0-9a-f]{40}$/);
  expect((await git(place, ['config', 'user.name'], { okCodes: [0, 1] })).stdout.toString()).toBe('');
});

test('a failure carries argv, exit code and stderr', async () => {
  const error = await git(place, ['rev-parse', '--verify', 'nowhere']).catch((e) => e);
  expect(error).toBeInstanceOf(GitError);
  expect(error).toMatchObject({ code: 'git_failed', exitCode: 128, argv: ['rev-parse', '--verify', 'nowhere'] });
  expect(error.stderr).toContain('Needed a single revision');
});

test('output and time are bounded', async () => {
  await expect(git(place, ['log'], { maxBytes: 10 })).rejects.toMatchObject({ tooMuchOutput: true });
  expect(await gitCapped(place, ['log'], { maxBytes: 10 })).toMatchObject({ truncated: true });
  const sleeping = git(place, ['-c', 'alias.zz=!sleep 1', 'zz'], { timeoutMs: 100 });
  await expect(sleeping).rejects.toMatchObject({ timedOut: true });
});

test("another git's lock is waited for", async () => {
  const lock = join(user, '.git/refs/heads/waited.lock');
  writeFileSync(lock, '');
  setTimeout(() => rmSync(lock), 300);
  await git(place, ['update-ref', 'refs/heads/waited', 'HEAD']);
  expect(userGit(user, 'rev-parse', 'waited')).toBe(userGit(user, 'rev-parse', 'HEAD'));
});

test('a ref that has another value is no lock: it fails at once', async () => {
  const began = Date.now();
  const wrong = userGit(user, 'rev-parse', 'HEAD^{tree}');
  expect(await codeOf(git(place, ['update-ref', 'refs/heads/main', 'HEAD', wrong]))).toBe('git_failed');
  expect(Date.now() - began).toBeLessThan(1000);
});

test('a configuration key may hold any character', async () => {
  const config = [['filter.a=b "c".clean', 'x\ny']] as const;
  const { stdout } = await git(place, ['config', '-z', '--get', 'filter.a=b "c".clean'], { config });
  expect(stdout.toString()).toBe('x\ny\0');
});

test('text of an agent reaches no terminal as escape sequences', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the oracle
      expect(printable(text)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    }),
  );
  expect(printable('\x1b[2Jred')).toBe('?[2Jred');
});
