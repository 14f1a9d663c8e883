import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makePlace, type Place } from '../../../../test/support/agent-place.ts';
import { filterGitSettings, formatGitConfig, parseGitList, prepareHome } from './home.ts';

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

function settingsInside(): Record<string, string> {
  const file = join(place.homeDir, '.gitconfig');
  return Object.fromEntries(
    parseGitList(execFileSync('git', ['config', '--file', file, '--list', '-z'], { encoding: 'utf8' })),
  );
}

it('brings who commits, and nothing that runs a program or holds a secret', async () => {
  place.write('work.inc', '[user]\n\temail = me@work.example\n');
  place.write(
    '.gitconfig',
    `[user]
	name = Me \\"Quoted\\" \\\\ Name
	signingkey = ABC
[include]
	path = work.inc
[commit]
	gpgsign = true
[credential]
	helper = store
[core]
	hooksPath = /tmp/hooks
	fsmonitor = /tmp/evil
	autocrlf = input
	excludesFile = ~/ignored
	sshCommand = ssh -i key
[alias]
	st = status -s
	x = !sh -c evil
[url "https://token@host/"]
	insteadOf = https://host/
[filter "lfs"]
	clean = git-lfs clean
`,
  );
  place.write('ignored', '*.swp\n');
  await prepareHome(place.homeDir, place.userHome);
  expect(settingsInside()).toEqual({
    'user.name': 'Me "Quoted" \\ Name',
    'user.email': 'me@work.example',
    'core.autocrlf': 'input',
    'alias.st': 'status -s',
  });
  expect(readFileSync(join(place.homeDir, '.config/git/ignore'), 'utf8')).toBe('*.swp\n');
  expect(statSync(place.homeDir).mode & 0o777).toBe(0o700);
});

it('can commit where the user has no identity', async () => {
  await prepareHome(place.homeDir, place.userHome);
  expect(settingsInside()).toEqual({ 'user.name': 'Drover', 'user.email': 'drover@localhost' });
  expect(existsSync(join(place.homeDir, '.config/git/ignore'))).toBe(false);
});

it('writes values that git reads back', () => {
  const file = place.write('check', '');
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !/[\0\r]/.test(text)),
      (value) => {
        place.write('check', formatGitConfig([['user.name', value]]));
        const read = execFileSync('git', ['config', '--file', file, '-z', 'user.name'], { encoding: 'utf8' });
        expect(read).toBe(`${value}\0`);
      },
    ),
    { numRuns: 30 },
  );
});

it('takes no alias that is a shell command, whatever its space', () => {
  const kept = filterGitSettings([
    ['alias.a', ' !evil'],
    ['alias.b', 'log'],
    ['user.name', 'n'],
    ['user.email', 'e'],
  ]);
  expect(kept.map(([key]) => key)).toEqual(['alias.b', 'user.name', 'user.email']);
});
