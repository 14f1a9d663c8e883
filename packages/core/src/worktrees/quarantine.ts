import { mkdir, mkdtemp, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from './files.ts';
import type { GitPlace } from './git-environment.ts';
import { removeTree } from './remove-tree.ts';
import { type Repository, repositoryPlace } from './repository.ts';

/** git's own prefix for such directories: `git gc` knows it, and collects what is two weeks old. */
const PREFIX = 'tmp_objdir-drover-';
const DAY_MS = 86_400_000;

/** Those of this process: they are in use as long as it lives. */
const open = new Set<string>();

/** A directory for objects that nobody sees before they are checked. */
export interface Quarantine {
  readonly dir: string;
  /** Commands here write to the quarantine and read the repository's objects besides. */
  readonly place: GitPlace;
  /** Moves the packs into the repository. The index goes last: without it git does not see a pack. */
  migrate(): Promise<void>;
  /** Safe to repeat, and after {@link migrate}. */
  remove(): Promise<void>;
}

/** The name says which process it belongs to, so that another engine can tell a dead one's. */
export async function openQuarantine(repo: Repository): Promise<Quarantine> {
  const objects = join(repo.commonDir, 'objects');
  const dir = await mkdtemp(join(objects, `${PREFIX}${process.pid}-`));
  open.add(dir);
  await mkdir(join(dir, 'info'));
  await mkdir(join(dir, 'pack'));
  // Relative, so that no character of the repository's path needs quoting.
  await writeFile(join(dir, 'info/alternates'), '..\n');
  return {
    dir,
    place: { ...repositoryPlace(repo), objectDir: dir },
    migrate: () => migrate(dir, objects),
    remove: async () => {
      await removeTree(dir);
      open.delete(dir);
    },
  };
}

/** Deletes quarantines whose engine is gone. Returns how many. */
export async function cleanQuarantines(repo: Repository): Promise<number> {
  const objects = join(repo.commonDir, 'objects');
  const names = (await readdir(objects)).filter((name) => name.startsWith(PREFIX));
  let removed = 0;
  for (const name of names) {
    if (!(await isStale(objects, name))) continue;
    await removeTree(join(objects, name));
    removed++;
  }
  return removed;
}

async function isStale(objects: string, name: string): Promise<boolean> {
  const dir = join(objects, name);
  if (open.has(dir)) return false;
  const pid = Number(/^(\d+)-/.exec(name.slice(PREFIX.length))?.[1]);
  if (!Number.isSafeInteger(pid) || pid === process.pid || !isAlive(pid)) return true;
  // A number that another process has by now: no take-over lasts a day.
  const found = await stat(dir).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > DAY_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function migrate(dir: string, objects: string): Promise<void> {
  const names = await readdir(join(dir, 'pack'));
  const isIndex = (name: string): boolean => name.endsWith('.idx');
  const ordered = [...names.filter((name) => !isIndex(name)), ...names.filter(isIndex)];
  await mkdir(join(objects, 'pack'), { recursive: true });
  for (const name of ordered) {
    const target = join(objects, 'pack', name);
    // A pack's name is the hash of what is in it: one that is there already is the same.
    if (!(await exists(target))) await rename(join(dir, 'pack', name), target);
  }
}
