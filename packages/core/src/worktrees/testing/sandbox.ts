import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentIdentity, Mount } from '../../sandbox/types.ts';
import { createWorktree, type Worktree } from '../create-worktree.ts';
import { gitInside, type Inside, runInside, type SandboxExec } from '../inside.ts';
import { openRepository, type Repository } from '../repository.ts';
import { resolveBase } from '../revisions.ts';
import { prepareShadow } from '../shadow.ts';

const AGENT_ENV = {
  GIT_AUTHOR_NAME: 'Robot',
  GIT_AUTHOR_EMAIL: 'robot@example.org',
  GIT_COMMITTER_NAME: 'Robot',
  GIT_COMMITTER_EMAIL: 'robot@example.org',
};

/** Runs commands under bubblewrap with exactly these mounts over the whole host, as the agent's uid. */
export function bwrapExec(mounts: readonly Mount[], identity: AgentIdentity): SandboxExec {
  const layout = mounts.flatMap((mount) => [...parentsInTmpfs(mount.dst, mounts), ...mountArgs(mount)]);
  const drop = ['setpriv', `--reuid=${identity.uid}`, `--regid=${identity.gid}`, '--clear-groups', '--'];
  return async (argv, { env, cwd }) => {
    const wrapped = ['--dev-bind', '/', '/', ...layout, '--unshare-pid', '--die-with-parent', '--chdir', cwd, '--'];
    const child = spawn('bwrap', [...wrapped, ...drop, ...argv], { env, stdio: 'pipe' });
    const result = new Promise<{ code: number | null; signal: number | null }>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, signal: null }));
    });
    child.stdout.on('close', () => child.exitCode === null && child.stdout.readableAborted && child.kill('SIGKILL'));
    return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, result };
  };
}

function mountArgs(mount: Mount): string[] {
  if (mount.kind === 'tmpfs') return ['--perms', '0755', '--tmpfs', mount.dst];
  return [mount.kind === 'ro' ? '--ro-bind' : '--bind', mount.src, mount.dst];
}

/** Bubblewrap would make missing directories that only root can pass. */
function parentsInTmpfs(dst: string, mounts: readonly Mount[]): string[] {
  const covers = mounts.filter(({ kind }) => kind === 'tmpfs').map((mount) => mount.dst);
  const parts = dst.split('/');
  const parents = parts.slice(2, -1).map((_, n) => parts.slice(0, n + 3).join('/'));
  const missing = parents.filter((at) => covers.some((cover) => at.startsWith(`${cover}/`)));
  return missing
    .filter((at) => !mounts.some((mount) => mount.dst === at))
    .flatMap((at) => ['--perms', '0755', '--dir', at]);
}

export interface TestAttempt {
  repo: Repository;
  worktree: Worktree;
  shadowDir: string;
  base: string;
  mounts: Mount[];
  inside: Inside;
  /** A shell script of the agent's; rejects unless it ends with 0. */
  agent(script: string): Promise<string>;
  git(...args: string[]): Promise<string>;
}

export const SELF: AgentIdentity = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

let attempts = 0;

/** All that an attempt has, as the engine would make it, with bubblewrap in the helper's place. */
export async function makeAttempt(
  root: string,
  checkout: string,
  options: { identity?: AgentIdentity; base?: string; name?: string; branch?: string } = {},
): Promise<TestAttempt> {
  const name = options.name ?? `task-${++attempts}`;
  const identity = options.identity ?? SELF;
  const repo = await openRepository(checkout);
  const base = options.base ?? (await resolveBase(repo, 'HEAD'));
  const worktree = await createWorktree(repo, { path: join(root, 'state/worktrees', name), base });
  mkdirSync(join(root, 'state/shadows'), { recursive: true });
  const shadowDir = join(root, 'state/shadows', name);
  const branch = options.branch ?? `drover/plan/${name}`;
  const hide = [join(root, 'state')];
  const mounts = await prepareShadow(repo, { worktree, shadowDir, branch, base, identity, hide });
  const env = { PATH: process.env.PATH ?? '', HOME: '/nonexistent' };
  const inside: Inside = { exec: bwrapExec(mounts, identity), cwd: worktree.path, env };
  return {
    repo,
    worktree,
    shadowDir,
    base,
    mounts,
    inside,
    agent: async (script) => {
      const result = await runInside(inside, ['bash', '-ec', script], { env: AGENT_ENV });
      if (result.code !== 0) throw new Error(`${script}: ${result.code}\n${result.stdout}${result.stderr}`);
      return result.stdout.toString('utf8').trimEnd();
    },
    git: async (...args) => (await gitInside(inside, args, { env: AGENT_ENV })).trimEnd(),
  };
}
