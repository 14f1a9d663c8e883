import { lstat, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AgentIdentity, Mount } from '../sandbox/types.ts';
import type { Worktree } from './create-worktree.ts';
import { gitItems, gitLine } from './git.ts';
import { isSelf } from './ownership.ts';
import { type Repository, repositoryPlace } from './repository.ts';

/** Directories that a sandbox begins with empty: nothing in them needs hiding, and nothing in them can be mounted over. */
const PRIVATE_IN_SANDBOX = ['/tmp', '/var/tmp', '/run'];

export interface MountOptions {
  worktree: Worktree;
  shadowDir: string;
  identity: AgentIdentity;
  /** More directories that the agent must not see: the state directory, to begin with. */
  hide: readonly string[];
}

/**
 * The mounts by which an agent has its worktree and a git directory of its own, and neither the main checkout nor the
 * user's `.git` nor another worktree of the same repository. In the order in which they must be made.
 */
export async function shadowMounts(repo: Repository, options: MountOptions): Promise<Mount[]> {
  const { worktree, shadowDir } = options;
  const binds: Mount[] = [
    { kind: 'rw', src: shadowDir, dst: repo.commonDir },
    { kind: 'ro', src: await realpath(join(repo.commonDir, 'objects')), dst: join(repo.commonDir, 'base-objects') },
    ...(await alternateMounts(repo)),
    { kind: 'rw', src: worktree.path, dst: worktree.path },
    { kind: 'ro', src: join(worktree.path, '.git'), dst: join(worktree.path, '.git') },
  ];
  const covers = outermost([...(await checkouts(repo, worktree)), ...options.hide]).map(
    (dst): Mount => ({ kind: 'tmpfs', dst }),
  );
  const closed = isSelf(options.identity) ? [] : await closedParents([...covers, ...binds], options.identity);
  return orderMounts([...closed, ...covers, ...binds]);
}

/**
 * Mounts in an order that works together with others' (a home, caches): a directory before what lies below it, and at the
 * same place the empty file system first. Everything else keeps its order.
 */
export function orderMounts(mounts: readonly Mount[]): Mount[] {
  const depth = ({ dst }: Mount): number => (dst === '/' ? 0 : dst.split('/').length);
  const layer = ({ kind }: Mount): number => (kind === 'tmpfs' ? 0 : 1);
  return [...mounts].sort((a, b) => depth(a) - depth(b) || layer(a) - layer(b));
}

/** The user's checkouts of this repository, and the one it is a submodule of. Drover's worktrees are among them. */
async function checkouts(repo: Repository, own: Worktree): Promise<string[]> {
  const fields = await gitItems(repositoryPlace(repo), ['worktree', 'list', '--porcelain', '-z']);
  const linked = fields
    .filter((field) => field.startsWith('worktree '))
    .map((field) => field.slice('worktree '.length));
  const others: string[] = [];
  for (const path of linked) {
    if (path === own.path || path === repo.commonDir || path === repo.mainWorktree || isPrivate(path)) continue;
    if (await isDirectory(path)) others.push(path);
  }
  const main = repo.mainWorktree === null ? [] : [repo.mainWorktree, ...(await superproject(repo.mainWorktree))];
  return [...main, ...others];
}

/** What lies in a directory that is hidden is hidden with it. */
function outermost(paths: readonly string[]): string[] {
  const distinct = [...new Set(paths)];
  return distinct.filter((path) => !distinct.some((other) => path.startsWith(`${other}/`)));
}

async function superproject(checkout: string): Promise<string[]> {
  const args = ['rev-parse', '--show-superproject-working-tree'];
  const path = await gitLine(null, args, { cwd: checkout, discover: true }).catch(() => '');
  return path === '' ? [] : [await realpath(path)];
}

/** The user's own alternates, the whole chain: without them objects would be missing. */
async function alternateMounts(repo: Repository): Promise<Mount[]> {
  const report = await gitLine(repositoryPlace(repo), ['count-objects', '-v']);
  const paths = report.split('\n').filter((line) => line.startsWith('alternate: '));
  const mounts: Mount[] = [];
  for (const line of paths) {
    const dst = unquote(line.slice('alternate: '.length));
    mounts.push({ kind: 'ro', src: await realpath(dst), dst });
  }
  return mounts;
}

/** git puts a path with unusual bytes in quotes, as a C string. */
export function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  const named: Record<string, string> = { a: '\x07', b: '\b', t: '\t', n: '\n', v: '\v', f: '\f', r: '\r' };
  const inner = Buffer.from(text.slice(1, -1), 'utf8').toString('latin1');
  const bytes = inner.replace(/\\([0-7]{3}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (named[code] ?? code),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/**
 * Directories on the way to a mount that the agent's uid may not pass (`/root`, a home of mode 0700). An empty file system
 * over each lets the way be built anew. Mounts of the engine that lie there (a private home) come after it.
 */
async function closedParents(mounts: readonly Mount[], identity: AgentIdentity): Promise<Mount[]> {
  const closed = new Set<string>();
  const covered = new Set(mounts.filter(({ kind }) => kind === 'tmpfs').map(({ dst }) => dst));
  for (const { dst } of mounts) {
    for (const parent of ancestors(dst)) {
      if (covered.has(parent) || closed.has(parent)) break; // rebuilt from here on
      if (await isPassable(parent, identity)) continue;
      closed.add(parent);
      break;
    }
  }
  return [...closed].map((dst) => ({ kind: 'tmpfs', dst }));
}

function ancestors(path: string): string[] {
  const list: string[] = [];
  for (let at = dirname(path); at !== '/'; at = dirname(at)) list.unshift(at);
  return list;
}

async function isPassable(path: string, { uid, gid }: AgentIdentity): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  if (found === null || !found.isDirectory()) return true;
  if (found.uid === uid) return (found.mode & 0o100) !== 0;
  if (found.gid === gid) return (found.mode & 0o010) !== 0;
  return (found.mode & 0o001) !== 0;
}

function isPrivate(path: string): boolean {
  return PRIVATE_IN_SANDBOX.some((dir) => path.startsWith(`${dir}/`));
}

async function isDirectory(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() ?? false;
}
