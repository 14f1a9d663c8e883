import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import type { Mount, SandboxProcess } from '../sandbox/types.ts';
import { openRepository, prepareShadow, type Repository, resolveBase, type Worktree } from './index.ts';
import type { InsideExec } from './inside.ts';
import { createWorktree } from './worktree.ts';

const ENV = {
  PATH: process.env.PATH!,
  HOME: '/nonexistent',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@localhost',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@localhost',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};

/** A real repository, a worktree of it, its shadow, and a way to run commands as a sandbox would: for tests of this folder. */
export class Bench {
  readonly root: string;
  readonly repo: string;
  repository!: Repository;
  worktree!: Worktree;
  base!: string;
  mounts: Mount[] = [];

  private constructor(root: string) {
    this.root = root;
    this.repo = join(root, 'repo');
  }

  static async make(files: Record<string, string> = { 'a.txt': 'one\n', 'dir/b.txt': 'two\n' }): Promise<Bench> {
    const bench = new Bench(await realpath(await mkdtemp(join(tmpdir(), 'drover-git-'))));
    await mkdir(bench.repo);
    await bench.git('init', '-q', '-b', 'main');
    await bench.write(files);
    await bench.git('add', '.');
    await bench.git('commit', '-qm', 'start');
    bench.repository = await openRepository(bench.repo);
    bench.base = await resolveBase(bench.repository, 'HEAD');
    return bench;
  }

  /** Worktree and shadow of one attempt. */
  async attempt(): Promise<void> {
    const path = join(this.root, 'wt');
    this.worktree = await createWorktree({ repository: this.repository, path, base: this.base });
    const layout = await prepareShadow({
      repository: this.repository,
      worktree: this.worktree,
      shadowDir: join(this.root, 'shadow'),
      branch: 'drover/p/t',
      base: this.base,
      identity: { uid: process.getuid!(), gid: process.getgid!() },
      contained: true,
    });
    this.mounts = layout.mounts;
  }

  async write(files: Record<string, string>, dir = this.repo): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(dir, name)), { recursive: true });
      await writeFile(join(dir, name), text);
    }
  }

  /** Git of the user, in the main checkout. */
  async git(...args: string[]): Promise<string> {
    return (await execa('git', args, { cwd: this.repo, env: ENV, extendEnv: false })).stdout;
  }

  /** Runs argv behind the mounts of the shadow, in the worktree. */
  readonly exec: InsideExec = async (argv, env = {}) => {
    const binds = this.mounts.flatMap((mount) => {
      if (mount.kind === 'tmpfs') return ['--tmpfs', mount.dst];
      return [mount.kind === 'ro' ? '--ro-bind' : '--bind', mount.src, mount.dst];
    });
    return child(['bwrap', '--dev-bind', '/', '/', ...binds, '--chdir', this.worktree.path, '--', ...argv], {
      ...ENV,
      ...env,
    });
  };

  /** A shell script inside. Rejects unless it ends with 0; gives its stdout. */
  async inside(script: string): Promise<string> {
    const run = await this.exec(['sh', '-ec', script]);
    run.stdin.end();
    const [out, err, { code }] = await Promise.all([text(run.stdout), text(run.stderr), run.result]);
    if (code !== 0) throw new Error(`inside: exit ${code}\n${out}${err}`);
    return out;
  }

  async dispose(): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}

/** A process in the form that a sandbox gives it. */
export function child(argv: string[], env: Record<string, string>): SandboxProcess {
  const run = spawn(argv[0]!, argv.slice(1), { env, cwd: '/', stdio: 'pipe' });
  return {
    stdin: run.stdin,
    stdout: run.stdout,
    stderr: run.stderr,
    result: new Promise((resolve, reject) => {
      run.once('error', reject);
      run.once('close', (code) => resolve({ code, signal: null }));
    }),
  };
}

async function text(stream: AsyncIterable<Buffer>): Promise<string> {
  let all = '';
  for await (const chunk of stream) all += chunk.toString();
  return all;
}
