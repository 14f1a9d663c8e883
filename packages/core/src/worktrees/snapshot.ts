import { constants, copyFile, lstat, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { adminDir } from './admin-dir.ts';
import { exists } from './files.ts';
import { type GitOptions, git, gitItems, gitLine, splitNul } from './git.ts';
import type { ConfigEntry, GitPlace } from './git-environment.ts';
import { type GitIdentity, identityEnvironment } from './identity.ts';
import { printable } from './printable.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { readRef, requireOid, treeOf } from './revisions.ts';
import { withoutFilters } from './untrusted-content.ts';

const LISTING_BYTES = 512 * 1024 * 1024;
const SLOW_MS = 1_800_000;

export interface SnapshotOptions {
  /** Where the files lie now. */
  path: string;
  /** The worktree's administrative directory, whose index says what was checked out. */
  id: string;
  /** Commit that the files are compared with: the last one taken over, or the base. */
  head: string;
  /** See `snapshotRef`. */
  ref: string;
  message: string;
  identity: GitIdentity;
}

export interface Snapshot {
  /** The commit, or null: everything is in `head`. */
  oid: string | null;
  /** What could not be recorded: nested repositories, unreadable files. At most 100. */
  skipped: string[];
}

/**
 * Records tracked and untracked changes of a worktree as a commit on `head`, and sets `ref` to it. Ignored files are not
 * recorded.
 *
 * The files are an agent's. So the index is a temporary copy of one that only the host wrote, paths are handed over one by
 * one (git would enter a nested repository and run what its configuration names), no filter of the user's runs on the
 * content, and no hook or monitor at all.
 */
export async function snapshotWorktree(repo: Repository, options: SnapshotOptions): Promise<Snapshot> {
  requireOid(repo, options.head);
  const scratch = await mkdtemp(join(tmpdir(), 'drover-index-'));
  try {
    const place = { gitDir: repo.commonDir, workTree: options.path, indexFile: join(scratch, 'index') };
    const gitOptions = await startIndex(repo, place, options);
    const { tree, skipped } = await writeTree(place, options.path, gitOptions);
    const oid = tree === (await treeOf(repo, options.head)) ? null : await record(repo, tree, options);
    return { oid, skipped: skipped.slice(0, 100).map(printable) };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The host's own index of the worktree spares reading files that nobody touched. */
async function startIndex(repo: Repository, place: GitPlace, { path, id, head }: SnapshotOptions): Promise<GitOptions> {
  const original = join(adminDir(repo, id), 'index');
  if (await exists(original)) await copyFile(original, place.indexFile!);
  // For each command on this index: also one that only writes it back compares files that are as young as it is.
  const times: ConfigEntry[] = [
    ['core.trustctime', 'true'],
    ['core.checkStat', 'default'],
  ];
  const config = [...(await withoutFilters(repo)), ...times];
  const options = { cwd: path, config, maxBytes: LISTING_BYTES, timeoutMs: SLOW_MS };
  await git(place, ['read-tree', '--reset', head], options);
  return options;
}

async function writeTree(
  place: GitPlace,
  path: string,
  options: GitOptions,
): Promise<{ tree: string; skipped: string[] }> {
  const tracked = await trackedFiles(place, options);
  const untracked = await gitItems(place, ['ls-files', '-z', '--others', '--exclude-standard'], options);
  // A nested repository is listed as a directory.
  const nested = untracked.filter((name) => name.endsWith('/'));
  const sorted = await sortPaths(path, [...tracked, ...untracked.filter((name) => !name.endsWith('/'))]);
  const update = async (names: readonly string[], ...flags: string[]): Promise<void> => {
    const input = names.map((name) => `${name}\0`).join('');
    await git(place, ['update-index', '-z', ...flags, '--stdin'], { ...options, input });
  };
  await update(sorted.gone, '--force-remove');
  await update(sorted.usable, '--add', '--remove', '--replace');
  return { tree: await gitLine(place, ['write-tree'], options), skipped: [...nested, ...sorted.refused] };
}

/** Submodule links stay as they are: to compare one, git would run `status` in it, with its own configuration. */
async function trackedFiles(place: GitPlace, options: GitOptions): Promise<string[]> {
  const { stdout } = await git(place, ['ls-files', '-z', '--stage'], options);
  const entries = splitNul(stdout).map((entry) => ({
    mode: entry.slice(0, 6),
    name: entry.slice(entry.indexOf('\t') + 1),
  }));
  return entries.filter(({ mode }) => mode !== '160000').map(({ name }) => name);
}

interface SortedPaths {
  usable: string[];
  /** Below what is no directory any more: a link in its place must not be followed. */
  gone: string[];
  /** update-index stops at the first path that it cannot read, or that is a pipe. These are told, and left as they were. */
  refused: string[];
}

async function sortPaths(root: string, names: readonly string[]): Promise<SortedPaths> {
  const directories = new Map<string, Promise<boolean>>([['.', Promise.resolve(true)]]);
  const isRealDirectory = (name: string): Promise<boolean> => {
    const known = directories.get(name);
    if (known) return known;
    const found = isRealDirectory(posix.dirname(name)).then((above) => above && isDirectory(join(root, name)));
    directories.set(name, found);
    return found;
  };
  const sorted: SortedPaths = { usable: [], gone: [], refused: [] };
  for (const name of names) {
    if (!(await isRealDirectory(posix.dirname(name)))) sorted.gone.push(name);
    else if (await isRecordable(join(root, name))) sorted.usable.push(name);
    else sorted.refused.push(name);
  }
  return sorted;
}

async function isDirectory(path: string): Promise<boolean> {
  return await lstat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function isRecordable(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  if (found === null || found.isSymbolicLink() || found.isDirectory()) return true; // gone, replaced: git sees for itself
  if (!found.isFile()) return false;
  if (process.getuid?.() === 0) return true;
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null);
  await file?.close();
  return file !== null;
}

async function record(repo: Repository, tree: string, options: SnapshotOptions): Promise<string> {
  const { head, ref, message, identity } = options;
  const before = await readRef(repo, ref);
  if (before !== null && (await isSame(repo, before, tree, head))) return before; // repeated after a crash
  const oid = await gitLine(
    repositoryPlace(repo),
    ['commit-tree', tree, '-p', head, ...(before ? ['-p', before] : []), '-F', '-'],
    {
      input: message,
      env: identityEnvironment(identity),
    },
  );
  await git(repositoryPlace(repo), ['update-ref', '-m', 'drover: snapshot', ref, oid]);
  return oid;
}

async function isSame(repo: Repository, commit: string, tree: string, head: string): Promise<boolean> {
  const line = await gitLine(repositoryPlace(repo), ['log', '-1', '--no-walk', '--format=%T %P', commit]);
  return line.startsWith(`${tree} ${head}`);
}
