import { posix } from 'node:path';
import { git, gitCapped, gitLine } from './git.ts';
import { printable } from './printable.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { isAncestor } from './revisions.ts';

const LISTING_BYTES = 32 * 1024 * 1024;
const MAX_REPORTED = 100;
const TREE_DIFF = ['diff-tree', '-r', '-z', '--raw', '--no-abbrev', '--no-renames', '--ignore-submodules=none'];
const TEXT_DIFF = ['diff', '--no-ext-diff', '--no-textconv', '--no-renames', '--numstat', '-z'];

export interface DiffStat {
  files: number;
  insertions: number;
  deletions: number;
}

/** What a person should know of commits that an agent made, before he goes near them with tools of his own. */
export interface Inspection {
  /** Commits that `base` does not have. */
  commits: number;
  /** False: the agent rewrote history below where it began. */
  descends: boolean;
  /** Paths that are new submodule links: `git submodule update` there would fetch what the agent chose. At most 100. */
  gitlinks: string[];
  /** New symbolic links that lead out of the repository. At most 100. */
  escapingLinks: string[];
  /** Null when it could not be had within its bounds. */
  stat: DiffStat | null;
}

/** Looks at objects alone: no file, filter, or driver of anybody's is touched. */
export async function inspect(repo: Repository, base: string, head: string): Promise<Inspection> {
  if (base === head) {
    const stat = { files: 0, insertions: 0, deletions: 0 };
    return { commits: 0, descends: true, gitlinks: [], escapingLinks: [], stat };
  }
  const place = repositoryPlace(repo);
  const added = await addedEntries(repo, base, head);
  const links = added.filter(({ mode }) => mode === '120000').slice(0, 10 * MAX_REPORTED);
  return {
    commits: Number(await gitLine(place, ['rev-list', '--count', head, `^${base}`])),
    descends: await isAncestor(repo, base, head),
    gitlinks: report(added.filter(({ mode }) => mode === '160000').map(({ path }) => path)),
    escapingLinks: report(await escaping(repo, links)),
    stat: await diffStat(repo, base, head).catch(() => null),
  };
}

/** True for a link target that leads out of the tree it lies in, or into a git directory. */
export function leadsOut(path: string, target: string): boolean {
  if (target.startsWith('/')) return true;
  const reached = posix.normalize(posix.join(posix.dirname(path), target));
  return reached === '..' || reached.startsWith('../') || /(^|\/)\.git(\/|$)/i.test(reached);
}

interface Entry {
  mode: string;
  oid: string;
  path: string;
}

/** Entries whose mode or content is new. */
async function addedEntries(repo: Repository, base: string, head: string): Promise<Entry[]> {
  const args = [...TREE_DIFF, base, head];
  const { stdout, truncated } = await gitCapped(repositoryPlace(repo), args, { maxBytes: LISTING_BYTES });
  const fields = stdout.toString('utf8').split('\0');
  if (truncated) fields.splice(-2); // half an entry
  const entries: Entry[] = [];
  for (let n = 0; n + 1 < fields.length; n += 2) {
    const [, mode = '', , oid = ''] = fields[n]!.split(' ');
    entries.push({ mode, oid, path: fields[n + 1]! });
  }
  return entries;
}

async function escaping(repo: Repository, links: readonly Entry[]): Promise<string[]> {
  const found: string[] = [];
  for (const { oid, path } of links) {
    const blob = gitCapped(repositoryPlace(repo), ['cat-file', 'blob', oid], { maxBytes: 4097 });
    const target = await blob.then(({ stdout }) => stdout.toString('utf8')).catch(() => '/unreadable');
    if (target.length > 4096 || leadsOut(path, target)) found.push(`${path} -> ${target}`);
    if (found.length >= MAX_REPORTED) break;
  }
  return found;
}

async function diffStat(repo: Repository, base: string, head: string): Promise<DiffStat> {
  const { stdout } = await git(repositoryPlace(repo), [...TEXT_DIFF, base, head], {
    maxBytes: LISTING_BYTES,
    timeoutMs: 60_000,
    memoryBytes: 2 * 1024 ** 3,
  });
  const lines = stdout.toString('utf8').split('\0').filter(Boolean);
  const stat = { files: lines.length, insertions: 0, deletions: 0 };
  for (const line of lines) {
    const [insertions, deletions] = line.split('\t');
    stat.insertions += Number(insertions) || 0; // "-" for binary files
    stat.deletions += Number(deletions) || 0;
  }
  return stat;
}

function report(items: readonly string[]): string[] {
  return items.slice(0, MAX_REPORTED).map(printable);
}
