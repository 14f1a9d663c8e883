import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makePlace, type Place } from '../../../../../test/support/agent-place.ts';
import type { PrepareContext } from '../types.ts';
import { claudeAdapter } from './index.ts';
import { projectName } from './private-home.ts';

const HOUR = 3_600_000;
const SESSION = '11111111-2222-4333-8444-555555555555';

let place: Place;
beforeEach(() => {
  place = makePlace();
  // Stands in for the program: answers `--version`, and renews an account as `auth status` does.
  place.write(
    '.local/share/claude/versions/2.1.332',
    `#!/bin/sh
if [ "$1" = --version ]; then echo "2.1.332 (Claude Code)"; exit; fi
echo "$@" >> "$HOME/calls"
[ -f "$HOME/renewed" ] && cp "$HOME/renewed" "$HOME/.claude/.credentials.json"
exit 0
`,
    0o755,
  );
  mkdirSync(join(place.userHome, '.local/bin'), { recursive: true });
  symlinkSync('../share/claude/versions/2.1.332', join(place.userHome, '.local/bin/claude'));
});
afterEach(() => place.remove());

function login(expiresInMs: number, token = 'access-1'): string {
  const oauth = {
    accessToken: token,
    refreshToken: 'REFRESH',
    expiresAt: Date.now() + expiresInMs,
    scopes: ['user:inference'],
  };
  return JSON.stringify({ claudeAiOauth: oauth, mcpOAuth: { other: 'OTHER' } });
}

const withKey = (change: Partial<PrepareContext> = {}) =>
  place.context({
    env: { PATH: '/usr/bin:/bin', ANTHROPIC_API_KEY: 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz' },
    ...change,
  });

const inHome = (path: string) => JSON.parse(readFileSync(join(place.homeDir, path), 'utf8'));

describe('command', () => {
  it('is one headless turn with its prompt on stdin', async () => {
    const context = withKey();
    Object.assign(context.task, { model: 'opus', maxTurns: 7, maxBudgetUsd: 1.5 });
    const launch = await claudeAdapter.prepare(context);
    const [program, ...args] = launch.argv;
    expect(program).toBe(join(place.userHome, '.local/bin/claude'));
    const session = args[args.indexOf('--session-id') + 1];
    expect(session).toMatch(/^[0-9a-f-]{36}$/);
    expect(args).toEqual([
      ...['-p', '--output-format', 'stream-json', '--verbose', '--session-id', session],
      ...['--dangerously-skip-permissions', '--disallowedTools', 'AskUserQuestion'],
      ...['--model', 'opus', '--max-turns', '7', '--max-budget-usd', '1.5'],
    ]);
    expect(launch).toMatchObject({ stdin: 'Do it.', tty: false, stderr: 'split', version: '2.1.332' });
  });

  it('binds the program through its link', async () => {
    const { mounts } = await claudeAdapter.prepare(withKey());
    expect(mounts).toEqual([
      { kind: 'ro', src: join(place.userHome, '.local/bin'), dst: join(place.userHome, '.local/bin') },
      {
        kind: 'ro',
        src: join(place.userHome, '.local/share/claude'),
        dst: join(place.userHome, '.local/share/claude'),
      },
    ]);
  });

  it('hides from the agent that it is started by another, and updates nothing', async () => {
    const env = { ...withKey().env, CLAUDECODE: '1', CLAUDE_CODE_ENTRYPOINT: 'cli', CLAUDE_CODE_SESSION_ID: 'x' };
    const launch = await claudeAdapter.prepare(withKey({ env: { ...env, CLAUDE_CONFIG_DIR: '/elsewhere' } }));
    expect(Object.keys(launch.env).filter((name) => name.startsWith('CLAUDE'))).toEqual([]);
    expect(launch.env.DISABLE_AUTOUPDATER).toBe('1');
    // An agent is never uid 0, so it need not be talked into it.
    expect(launch.env).not.toHaveProperty('IS_SANDBOX');
  });
});

describe('refusals', () => {
  it('name a program that is not there', async () => {
    const context = withKey({ userHome: place.root });
    await expect(claudeAdapter.prepare(context)).rejects.toMatchObject({ code: 'agent_missing' });
    expect(await claudeAdapter.detect(context.env, place.root)).toBeNull();
  });

  it('name a missing login', async () => {
    await expect(claudeAdapter.prepare(place.context())).rejects.toMatchObject({ code: 'agent_auth' });
    expect(await claudeAdapter.detect({ PATH: '' }, place.userHome)).toMatchObject({
      loggedIn: false,
      version: '2.1.332',
    });
  });

  it('name a provider whose credentials cannot come along', async () => {
    const env = { ...withKey().env, CLAUDE_CODE_USE_BEDROCK: '1' };
    await expect(claudeAdapter.prepare(withKey({ env }))).rejects.toMatchObject({ code: 'agent_unsupported' });
  });

  it('name a missing prompt', async () => {
    await expect(claudeAdapter.prepare(place.context({}, { prompt: ' ' }))).rejects.toMatchObject({
      code: 'agent_input',
    });
  });
});

describe('private home', () => {
  it('asks nothing at the first start, and knows nothing of other projects', async () => {
    const users = {
      theme: 'light',
      oauthAccount: { a: 1 },
      projects: { '/other': {} },
      mcpServers: { s: { env: { K: 'SECRET' } } },
    };
    place.write('.claude.json', JSON.stringify(users));
    await claudeAdapter.prepare(withKey());
    expect(inHome('.claude.json')).toEqual({
      theme: 'light',
      oauthAccount: { a: 1 },
      customApiKeyResponses: { approved: ['ghijklmnopqrstuvwxyz'] },
      hasCompletedOnboarding: true,
      bypassPermissionsModeAccepted: true,
      autoUpdates: false,
      projects: { [place.worktree]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    });
  });

  it('has the instructions of the user, and settings without what cannot work', async () => {
    place.write('.claude/CLAUDE.md', 'Be brief.');
    place.write('.claude/skills/a/SKILL.md', 'a skill');
    place.write('.claude/projects/x/y.jsonl', 'history');
    const settings = {
      hooks: { Stop: [] },
      enabledPlugins: { p: true },
      sandbox: {},
      env: { A: '1', CLAUDE_CONFIG_DIR: '/x' },
    };
    place.write('.claude/settings.json', JSON.stringify(settings));
    await claudeAdapter.prepare(withKey());
    expect(readFileSync(join(place.homeDir, '.claude/CLAUDE.md'), 'utf8')).toBe('Be brief.');
    expect(existsSync(join(place.homeDir, '.claude/skills/a/SKILL.md'))).toBe(true);
    expect(existsSync(join(place.homeDir, '.claude/projects'))).toBe(false);
    expect(inHome('.claude/settings.json')).toEqual({ hooks: { Stop: [] }, env: { A: '1' } });
  });

  it('is filled from where CLAUDE_CONFIG_DIR says', async () => {
    place.write('other/CLAUDE.md', 'Other.');
    const env = { ...withKey().env, CLAUDE_CONFIG_DIR: join(place.userHome, 'other') };
    await claudeAdapter.prepare(withKey({ env }));
    expect(readFileSync(join(place.homeDir, '.claude/CLAUDE.md'), 'utf8')).toBe('Other.');
  });
});

describe('a session of an earlier attempt', () => {
  const transcript = () => join('.claude/projects', projectName(place.worktree), `${SESSION}.jsonl`);

  it('is carried over and resumed', async () => {
    const earlier = join(place.userHome, 'earlier');
    place.write(join('earlier', transcript()), '{}');
    const launch = await claudeAdapter.prepare(withKey({ resume: { session: SESSION, homeDir: earlier } }));
    expect(launch.argv).toContain('--resume');
    expect(launch.argv).not.toContain('--session-id');
    expect(existsSync(join(place.homeDir, transcript()))).toBe(true);
  });

  it('is started anew where it is gone, or where it is a link', async () => {
    const earlier = join(place.userHome, 'earlier');
    const file = place.write(join('earlier', transcript()), '{}');
    const gone = await claudeAdapter.prepare(
      withKey({ resume: { session: SESSION.replace('1', '2'), homeDir: earlier } }),
    );
    expect(gone.argv).toContain('--session-id');
    writeFileSync(join(place.root, 'secret'), 'SECRET');
    symlinkSync(join(place.root, 'secret'), `${file}.link`);
    const linked = join(place.userHome, 'linked');
    mkdirSync(join(linked, '.claude'), { recursive: true });
    symlinkSync(join(earlier, '.claude/projects'), join(linked, '.claude/projects'));
    const launch = await claudeAdapter.prepare(withKey({ resume: { session: SESSION, homeDir: linked } }));
    expect(launch.argv).toContain('--session-id');
    expect(existsSync(join(place.homeDir, transcript()))).toBe(false);
  });
});

describe('an account', () => {
  const credentials = () => readFileSync(join(place.homeDir, '.claude/.credentials.json'), 'utf8');

  it('is shared read-only, without its refresh token', async () => {
    place.write('.claude/.credentials.json', login(5 * HOUR));
    const { mounts } = await claudeAdapter.prepare(place.context());
    const mount = mounts.at(-1) as { kind: string; src: string; dst: string };
    expect(mount).toMatchObject({ kind: 'ro', dst: join(place.userHome, '.claude/.account') });
    expect(mount.src.startsWith(place.accountsDir)).toBe(true);
    const published = readFileSync(join(mount.src, '.credentials.json'), 'utf8');
    expect(published).toContain('access-1');
    expect(published).not.toMatch(/REFRESH|OTHER/);
    expect(readlinkSync(join(place.homeDir, '.claude/.credentials.json'))).toBe('.account/.credentials.json');
    expect(existsSync(join(place.userHome, 'calls'))).toBe(false);
  });

  it('is reached by a link where nothing is mounted', async () => {
    place.write('.claude/.credentials.json', login(5 * HOUR));
    const launch = await claudeAdapter.prepare(place.context({ homePath: place.homeDir }));
    expect(launch.mounts).toEqual([]);
    expect(credentials()).toContain('access-1');
    expect(lstatSync(join(place.homeDir, '.claude/.credentials.json')).isSymbolicLink()).toBe(true);
  });

  it('is renewed by the program of the user, and reaches agents that run', async () => {
    place.write('.claude/.credentials.json', login(5 * HOUR));
    const context = place.context({ homePath: place.homeDir });
    await claudeAdapter.prepare(context);
    place.write('.claude/.credentials.json', login(60_000, 'access-old'));
    place.write('renewed', login(8 * HOUR, 'access-2'));
    expect(await claudeAdapter.refreshAccount!(context)).toBeNull();
    expect(credentials()).toContain('access-2');
    expect(readFileSync(join(place.userHome, 'calls'), 'utf8')).toBe('auth status\n');
  });

  it('that has run out is refused by name', async () => {
    place.write('.claude/.credentials.json', login(-HOUR));
    await expect(claudeAdapter.prepare(place.context())).rejects.toMatchObject({
      code: 'agent_auth',
      message: expect.stringContaining('run out'),
    });
  });

  it('is left alone where a variable logs in', async () => {
    place.write('.claude/.credentials.json', login(5 * HOUR));
    await claudeAdapter.prepare(withKey());
    expect(existsSync(join(place.homeDir, '.claude/.credentials.json'))).toBe(false);
    expect(await claudeAdapter.refreshAccount!(withKey())).toBeNull();
  });
});
