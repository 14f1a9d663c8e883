import { missing, ok, warn } from './finding.ts';
import type { Check, Finding, Readers } from './types.ts';

const GIB = 1024 ** 3;
const FREE_MIN = 1 * GIB;
const FREE_GOOD = 10 * GIB;
const INODES_GOOD = 200_000;

const gib = (bytes: number) => `${(bytes / GIB).toFixed(1)} GiB`;

const disk: Check = {
  name: 'disk space',
  run({ stateDir, fileSystem }) {
    const fs = fileSystem(stateDir);
    if (!fs)
      return missing('disk space', `${stateDir} cannot be read`, 'Nothing can be stored.', 'Set DROVER_STATE_DIR.');
    const found = `${gib(fs.freeBytes)} free for ${stateDir}`;
    if (fs.freeBytes >= FREE_GOOD) return ok('disk space', found);
    const cost = 'Each agent has a worktree and a home of its own.';
    const fix = 'Free some, or set DROVER_STATE_DIR to a larger file system.';
    return fs.freeBytes < FREE_MIN ? missing('disk space', found, cost, fix) : warn('disk space', found, cost, fix);
  },
};

const inodes: Check = {
  name: 'inodes',
  run({ stateDir, fileSystem }) {
    const fs = fileSystem(stateDir);
    // btrfs and others have no fixed number and say 0.
    if (!fs || fs.totalInodes === 0) return ok('inodes', 'not limited');
    const found = `${fs.freeInodes} free for ${stateDir}`;
    if (fs.freeInodes >= INODES_GOOD) return ok('inodes', found);
    return warn('inodes', found, 'Worktrees have many small files.', 'Free some, or set DROVER_STATE_DIR.');
  },
};

/** A sysctl that should be at least so high. */
function sysctl(name: string, key: string, wanted: number, cost: string): Check {
  return {
    name,
    run(readers) {
      const value = Number(readers.readFile(`/proc/sys/${key.replaceAll('.', '/')}`) ?? Number.NaN);
      if (Number.isNaN(value)) return ok(name, 'not limited');
      if (value >= wanted) return ok(name, String(value));
      return warn(name, String(value), cost, `sudo sysctl ${key}=${wanted}`);
    },
  };
}

const openFiles: Check = {
  name: 'open files',
  run(readers): Finding {
    const most = hardLimit(readers);
    if (most === null) return ok('open files', 'not limited');
    if (most >= 4096) return ok('open files', `${most} a process`);
    return warn('open files', `${most} a process`, 'The engine holds several for each agent.', 'ulimit -n 65536');
  },
};

function hardLimit({ readFile }: Readers): number | null {
  const match = /^Max open files\s+\S+\s+(\S+)/m.exec(readFile('/proc/self/limits') ?? '');
  return match?.[1] === undefined || match[1] === 'unlimited' ? null : Number(match[1]);
}

/** What agents use up. */
export const RESOURCE_CHECKS: readonly Check[] = [
  disk,
  inodes,
  openFiles,
  sysctl('inotify watches', 'fs.inotify.max_user_watches', 65_536, 'Watchers of agents fail with ENOSPC.'),
  sysctl('inotify instances', 'fs.inotify.max_user_instances', 256, 'Watchers of agents fail with EMFILE.'),
];
