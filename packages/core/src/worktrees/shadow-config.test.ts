import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ConfigLine, filterConfig, formatConfig, parseConfig, stripLogins } from './shadow-config.ts';
import { scratch } from './testing/repo.ts';

const root = scratch();
const file = join(root, 'config');

const read = (): ConfigLine[] =>
  parseConfig(execFileSync('git', ['config', '--file', file, '--no-includes', '--list', '-z']));

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
/** Any byte but NUL, as latin1. */
const bytes = fc
  .array(fc.integer({ min: 1, max: 255 }), { maxLength: 20 })
  .map((codes) => String.fromCharCode(...codes));
const subsection = bytes.map((text) => text.replaceAll('\n', ''));
const line = fc.tuple(name, fc.option(subsection), name, fc.option(bytes)).map(
  ([section, sub, key, value]): ConfigLine => ({
    key: [section, ...(sub === null ? [] : [sub]), key].join('.'),
    value,
  }),
);

test('git reads back exactly what was written, whatever bytes it holds', () => {
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 12 }), (lines) => {
      writeFileSync(file, formatConfig(lines), 'latin1');
      expect(read()).toEqual(lines);
    }),
    { numRuns: 150 },
  );
});

test('no login survives in a URL, wherever it stands', () => {
  const part = fc.stringMatching(/^[A-Za-z0-9._~!$&'()*+,;=%:-]{1,12}$/);
  const scheme = fc.constantFrom('https', 'http', 'HTTPS', 'ftp', 'git', 'persistent-https');
  const where = fc.constantFrom('remote.origin.url', 'lfs.url', 'branch.main.remote', 'http.proxy', 'submodule.a.url');
  fc.assert(
    fc.property(scheme, part, part, where, (protocol, user, secret, key) => {
      const token = `tok-${secret}-en`;
      const url = `${protocol}://${user}:${token}@example.org/x.git`;
      const lines = [
        { key, value: url },
        { key: `url.${url}.insteadof`, value: 'short:' },
      ];
      const text = formatConfig(filterConfig(lines));
      expect(text).not.toContain(token);
      expect(text).toContain('example.org/x.git');
    }),
  );
});

test('addresses stay usable', () => {
  for (const url of [
    'git@example.org:x.git',
    'ssh://git@example.org/x',
    'https://example.org/a@b',
    '/srv/x',
    'a@b.c',
  ]) {
    expect(stripLogins(url)).toBe(url);
  }
  expect(stripLogins('ssh://git:pw@example.org/x')).toBe('ssh://git@example.org/x');
  expect(stripLogins('https://ghp_token@example.org/x')).toBe('https://example.org/x');
});

test('what carries secrets, runs for git, or says where the repository is does not come along', () => {
  const dropped = [
    'core.worktree',
    'core.bare',
    'core.fsmonitor',
    'core.sshcommand',
    'core.askpass',
    'include.path',
    'includeif.gitdir:/x.path',
    'credential.helper',
    'credential.https://example.org.helper',
    'http.extraheader',
    'http.https://a.b/c.d/.extraheader',
    'http.cookiefile',
    'http.https://x.sslkey',
    'sendemail.smtppass',
    'extensions.refstorage',
    'commit.gpgsign',
  ];
  const kept = [
    'core.autocrlf',
    'core.repositoryformatversion',
    'extensions.objectformat',
    'filter.lfs.clean',
    'remote.origin.fetch',
    'user.email',
    'alias.co',
    'core.hookspath',
    'http.sslverify',
    'merge.ours.driver',
    'diff.x.textconv',
  ];
  const keys = filterConfig([...dropped, ...kept].map((key) => ({ key, value: 'v' }))).map(({ key }) => key);
  expect(keys).toEqual([...kept, 'gc.auto', 'maintenance.auto', 'commit.gpgsign', 'tag.gpgsign']);
});
