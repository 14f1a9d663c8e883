import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';

const IDENTITY = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
};

/** A temporary directory that is gone after the test file. Git's global configuration is an empty home in it. */
export function scratch(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'drover-git-')));
  process.env.HOME = join(dir, 'home');
  delete process.env.XDG_CONFIG_HOME;
  process.env.GIT_CONFIG_NOSYSTEM = '1';
  mkdirSync(process.env.HOME);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Plain git, as the user would run it. */
export function userGit(cwd: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, GIT_CONFIG_NOSYSTEM: '1', ...IDENTITY };
  return execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
}

/** A repository with one commit of these files. */
export function makeRepo(
  dir: string,
  files: Record<string, string> = { 'a.txt': 'one\n', 'src/b.txt': 'two\n' },
): string {
  mkdirSync(dir, { recursive: true });
  userGit(dir, 'init', '-q', '-b', 'main');
  commitFiles(dir, files, 'first');
  return dir;
}

/** Writes files, commits everything, returns the commit. */
export function commitFiles(dir: string, files: Record<string, string>, message: string): string {
  writeFiles(dir, files);
  userGit(dir, 'add', '-A');
  userGit(dir, 'commit', '-q', '--allow-empty', '-m', message);
  return userGit(dir, 'rev-parse', 'HEAD');
}

export function writeFiles(dir: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
}

/** Thousands of files in one commit, by fast-import: a second for 100,000. */
export function makeLargeRepo(dir: string, count: number): string {
  mkdirSync(dir, { recursive: true });
  userGit(dir, 'init', '-q', '-b', 'main');
  const lines = ['commit refs/heads/main', 'committer Ada <ada@example.org> 1700000000 +0000', 'data 5', 'large'];
  for (let n = 0; n < count; n++) {
    const text = `file ${n}\n${'x'.repeat(n % 900)}\n`;
    lines.push(`M 100644 inline dir${n % 97}/file-${n}.txt`, `data ${text.length}`, text);
  }
  execFileSync('git', ['fast-import', '--quiet'], { cwd: dir, input: `${lines.join('\n')}\n` });
  userGit(dir, 'reset', '-q', '--hard');
  return dir;
}

/** Every entry below a directory with its mode and content, hashed. Two equal maps are equal byte for byte. */
export function treeHashes(root: string, ignore: (path: string) => boolean = () => false): Map<string, string> {
  const found = new Map<string, string>();
  const walk = (dir: string, prefix: string): void => {
    for (const name of readdirSync(dir).sort()) {
      const path = `${prefix}${name}`;
      if (ignore(path)) continue;
      const full = join(dir, name);
      const { mode, uid } = lstatSync(full);
      found.set(path, `${mode.toString(8)} ${uid} ${contentHash(full, mode)}`);
      if ((mode & 0o170000) === 0o040000) walk(full, `${path}/`);
    }
  };
  walk(root, '');
  return found;
}

function contentHash(path: string, mode: number): string {
  const type = mode & 0o170000;
  if (type === 0o120000) return readlinkSync(path);
  return type === 0o100000 ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
}
