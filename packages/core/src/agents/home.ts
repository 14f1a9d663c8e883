import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Directories that programs expect in a home. */
const DIRECTORIES = ['.config', '.cache', '.local/share', '.local/state', 'tmp'] as const;

/**
 * Git settings that come along: who commits, and how text is treated. What runs a program (helpers, signing, filters,
 * hooks), leads to other files (includes) or holds a secret stays behind.
 */
const GIT_KEYS = new Set([
  'user.name',
  'user.email',
  'author.name',
  'author.email',
  'committer.name',
  'committer.email',
  'init.defaultbranch',
  'core.autocrlf',
  'core.eol',
  'core.safecrlf',
  'core.quotepath',
  'core.commentchar',
  'pull.rebase',
  'pull.ff',
  'merge.conflictstyle',
  'diff.algorithm',
  'diff.renames',
  'rebase.autosquash',
  'rebase.autostash',
  'fetch.prune',
  'push.default',
]);

/** Used where the user has told git no name: an agent's commit must not fail for it. */
const NOBODY: readonly [string, string][] = [
  ['user.name', 'Drover'],
  ['user.email', 'drover@localhost'],
];

const MAX_IGNORE_BYTES = 1024 * 1024;

/** Makes a private home with what every agent gets: a few directories and the user's git identity. */
export async function prepareHome(homeDir: string, userHome: string): Promise<void> {
  for (const name of DIRECTORIES) await mkdir(join(homeDir, name), { recursive: true, mode: 0o700 });
  await chmod(homeDir, 0o700);
  const settings = await userGitSettings(userHome);
  await writeFile(join(homeDir, '.gitconfig'), formatGitConfig(filterGitSettings(settings)), { mode: 0o600 });
  const ignore = await userIgnoreFile(settings, userHome);
  if (ignore === null) return;
  await mkdir(join(homeDir, '.config/git'), { recursive: true, mode: 0o700 });
  await writeFile(join(homeDir, '.config/git/ignore'), ignore, { mode: 0o600 });
}

/** Keeps what {@link GIT_KEYS} names, and aliases that run git itself. The last value of a key wins, as in git. */
export function filterGitSettings(settings: readonly [string, string][]): [string, string][] {
  const kept = new Map<string, string>();
  for (const [key, value] of settings) {
    if (GIT_KEYS.has(key) || isPlainAlias(key, value)) kept.set(key, value);
  }
  for (const [key, value] of NOBODY) if (!kept.has(key)) kept.set(key, value);
  return [...kept];
}

function isPlainAlias(key: string, value: string): boolean {
  return /^alias\.[a-z0-9-]+$/i.test(key) && !value.trimStart().startsWith('!');
}

/** Writes settings in git's own form. Keys have one section and one name. */
export function formatGitConfig(settings: readonly [string, string][]): string {
  return settings
    .map(([key, value]) => {
      const [section, name] = key.split('.') as [string, string];
      return `[${section}]\n\t${name} = "${escapeValue(value)}"\n`;
    })
    .join('');
}

function escapeValue(value: string): string {
  return value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

/** The user's own settings with includes resolved, by git itself; never the repository's, which agents could write. */
async function userGitSettings(userHome: string): Promise<[string, string][]> {
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: userHome, GIT_CONFIG_NOSYSTEM: '1' };
  const args = ['config', '--global', '--includes', '--list', '-z'];
  try {
    const { stdout } = await run('git', args, { env, cwd: '/', timeout: 10_000, maxBuffer: 4 * 1024 * 1024 });
    return parseGitList(stdout);
  } catch {
    // No file, or one that git cannot read: the same as none.
    return [];
  }
}

/** Reads `git config --list -z`: key, newline, value, NUL; a key alone is true. */
export function parseGitList(list: string): [string, string][] {
  return list
    .split('\0')
    .filter(Boolean)
    .map((entry) => {
      const at = entry.indexOf('\n');
      return at < 0 ? [entry, 'true'] : [entry.slice(0, at), entry.slice(at + 1)];
    });
}

async function userIgnoreFile(settings: readonly [string, string][], userHome: string): Promise<string | null> {
  const named = settings.findLast(([key]) => key === 'core.excludesfile')?.[1];
  const path = named ? resolve(userHome, named.replace(/^~\//, `${userHome}/`)) : join(userHome, '.config/git/ignore');
  const found = await stat(path).catch(() => null);
  if (!found?.isFile() || found.size > MAX_IGNORE_BYTES) return null;
  return readFile(path, 'utf8').catch(() => null);
}
