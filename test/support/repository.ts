import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { git } from './git.ts';

export interface RepositoryOptions {
  /** Files of generated text, spread over directories. */
  files?: number;
  /** Files of the test's own, by path. */
  content?: Record<string, string>;
  /** Commits on top of the first. */
  commits?: number;
}

/** A git repository made for one test. */
export class Repository {
  readonly path: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(path: string, env: NodeJS.ProcessEnv) {
    this.path = path;
    this.#env = env;
  }

  git(...args: string[]): Promise<string> {
    return git(this.path, this.#env, ...args);
  }

  /** Content of a file at a revision. */
  show(revision: string, path: string): Promise<string> {
    return this.git('show', `${revision}:${path}`);
  }

  /** Short names of the branches below `prefix`, sorted. */
  async branches(prefix = 'drover/'): Promise<string[]> {
    const out = await this.git('for-each-ref', '--format=%(refname:lstrip=2)', `refs/heads/${prefix}`);
    return out.split('\n').filter(Boolean);
  }

  /** Paths of the worktrees that git knows of, the main checkout first. */
  async worktrees(): Promise<string[]> {
    const out = await this.git('worktree', 'list', '--porcelain');
    return out.split('\n').flatMap((line) => (line.startsWith('worktree ') ? [line.slice('worktree '.length)] : []));
  }

  write(path: string, text: string, mode = 0o644): void {
    const full = join(this.path, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    chmodSync(full, mode);
  }

  /**
   * What a user has lying about and must find again exactly so: a staged change, an unstaged one, an untracked and an ignored
   * file, a stash, packed and loose refs, a hook, a remote.
   */
  async makeLivedIn(): Promise<void> {
    await this.git('branch', 'feature/old');
    await this.git('tag', '-a', 'v1', '-m', 'first');
    await this.git('pack-refs', '--all');
    await this.git('branch', 'feature/new');
    await this.git('remote', 'add', 'origin', 'https://example.invalid/repository.git');
    this.write('dir-000/file-0000.txt', 'to be stashed\n');
    await this.git('stash', 'push', '-q', '-m', 'for later');
    this.write('.gitignore', 'ignored/\n');
    await this.git('add', '.gitignore');
    this.write('dir-000/file-0001.txt', 'changed, not staged\n');
    this.write('notes.txt', 'untracked\n');
    this.write('ignored/cache.bin', 'ignored\n');
    this.write('.git/hooks/post-commit', '#!/bin/sh\ntouch "$(git rev-parse --git-common-dir)/hook-ran"\n', 0o755);
  }
}

/** Makes a repository by fast-import: thousands of files in a fraction of a second. */
export async function createRepository(
  path: string,
  env: NodeJS.ProcessEnv,
  options: RepositoryOptions = {},
): Promise<Repository> {
  mkdirSync(path, { recursive: true });
  const repository = new Repository(path, env);
  await repository.git('init', '-q', '-b', 'main');
  const stream = fastImport(options);
  await execa('git', ['fast-import', '--quiet', '--done'], { cwd: path, env, extendEnv: false, input: stream });
  await repository.git('reset', '-q', '--hard', 'main');
  return repository;
}

function fastImport({ files = 20, content = {}, commits = 1 }: RepositoryOptions): string {
  const generated = Array.from({ length: files }, (_, n) => [filePath(n), fileText(n)] as const);
  const entries = [...generated, ...Object.entries(content)];
  const first = `${commitHead(1, 'Start')}${entries.map(([path, text]) => modify(path, text)).join('')}\n`;
  const rest = Array.from({ length: commits }, (_, n) => {
    return `${commitHead(n + 2, `Change ${n + 1}`)}${modify('CHANGES', `change ${n + 1}\n`)}\n`;
  });
  return `${first}${rest.join('')}done\n`;
}

function commitHead(second: number, message: string): string {
  const who = `Sam Sample <sam@example.invalid> ${1_700_000_000 + second} +0000`;
  return `commit refs/heads/main\nauthor ${who}\ncommitter ${who}\n${data(message)}`;
}

function modify(path: string, text: string): string {
  return `M 100644 inline ${JSON.stringify(path)}\n${data(text)}`;
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

const pad = (n: number, width: number) => String(n).padStart(width, '0');

function filePath(n: number): string {
  return `dir-${pad(Math.floor(n / 100), 3)}/file-${pad(n, 4)}.txt`;
}

function fileText(n: number): string {
  return Array.from(
    { length: 5 + (n % 40) },
    (_, line) => `file ${n} line ${line}: ${(n * 2_654_435_761 + line) >>> 0}\n`,
  ).join('');
}
