import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makePlace, type Place } from '../../../../test/support/agent-place.ts';
import { executableDirectories, isWithin, toolchainView } from './toolchain.ts';

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

async function destinations(PATH: string, executable?: string): Promise<string[]> {
  const { mounts } = await toolchainView({ PATH }, place.userHome, executable);
  return mounts.map((mount) => mount.dst.slice(place.userHome.length + 1));
}

it('binds toolchains that are there, and only what holds programs', async () => {
  place.write('.cargo/bin/cargo', '', 0o755);
  place.write('.cargo/credentials.toml', 'token');
  place.write('.nvm/versions/node/v20/bin/node', '', 0o755);
  expect(await destinations('/usr/bin')).toEqual(['.cargo/bin', '.nvm']);
});

it('binds directories on PATH, outermost once', async () => {
  place.write('.nvm/versions/node/v20/bin/node', '', 0o755);
  place.write('tools/bin/x', '', 0o755);
  const home = place.userHome;
  expect(await destinations(`${home}/tools/bin:${home}/.nvm/versions/node/v20/bin:${home}/gone`)).toEqual([
    '.nvm',
    'tools/bin',
  ]);
});

describe('secrets', () => {
  it.each(['.ssh', '.aws/bin', '.config', '.config/gh', '.', '.local', '.local/share', '.claude', '.codex/bin'])(
    'never binds %s, though PATH names it',
    async (name) => {
      mkdirSync(join(place.userHome, name), { recursive: true });
      for (const secret of [
        '.ssh/id',
        '.config/gh/hosts.yml',
        '.local/share/keyrings/x',
        '.claude/.credentials.json',
      ]) {
        place.write(secret, 'secret');
      }
      expect(await destinations(join(place.userHome, name))).toEqual([]);
    },
  );

  it('are not reached through a link either', async () => {
    place.write('.ssh/id', 'secret');
    symlinkSync(join(place.userHome, '.ssh'), join(place.userHome, 'bin'));
    symlinkSync(place.userHome, join(place.userHome, 'everything'));
    expect(await destinations(`${place.userHome}/bin:${place.userHome}/everything`)).toEqual([]);
  });
});

it('follows every link to the program', async () => {
  place.write('.local/share/claude/versions/2.1', '', 0o755);
  mkdirSync(join(place.userHome, '.local/bin'), { recursive: true });
  place.write('apps/real/tool', '', 0o755);
  const link = join(place.userHome, '.local/bin/tool');
  symlinkSync('../../apps/real/tool', link);
  expect(await destinations('/usr/bin', link)).toEqual(['.local/bin', '.local/share/claude', 'apps/real']);
});

it('takes a program of npm with all that was installed together', async () => {
  const file = place.write('pkgs/node_modules/@a/cli/bin/cli.js', '', 0o755);
  expect((await executableDirectories(file)).at(-1)).toBe(join(place.userHome, 'pkgs/node_modules'));
});

it('survives links in a circle', async () => {
  symlinkSync('b', join(place.root, 'a'));
  symlinkSync('a', join(place.root, 'b'));
  expect((await executableDirectories(join(place.root, 'a'))).length).toBeGreaterThan(0);
});

it('names toolchains to programs where HOME is another', async () => {
  place.write('.rustup/settings.toml', '');
  const { env } = await toolchainView({ PATH: '' }, place.userHome);
  expect(env).toEqual({ RUSTUP_HOME: join(place.userHome, '.rustup') });
});

it('binds a certificate file that the environment names', async () => {
  const file = place.write('certs/company.pem', 'x');
  const { mounts } = await toolchainView({ PATH: '', NODE_EXTRA_CA_CERTS: file }, place.userHome);
  expect(mounts).toEqual([{ kind: 'ro', src: file, dst: file }]);
});

it.each([
  ['/a/b', '/a', true],
  ['/a', '/a', true],
  ['/ab', '/a', false],
  ['/a/..b', '/a', true],
  ['/', '/a', false],
])('%s within %s: %s', (path, directory, within) => {
  expect(isWithin(path, directory)).toBe(within);
});
