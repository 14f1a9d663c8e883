import { missing, ok, warn } from './finding.ts';
import type { Check, Finding, Readers } from './types.ts';

export type CgroupMode = 'v2' | 'hybrid' | 'v1' | 'none';

interface Mount {
  point: string;
  type: string;
  options: string;
}

/** How cgroups are mounted: unified, with v1 controllers beside it, or v1 alone. */
export function cgroupMode(readers: Readers): CgroupMode {
  const mounts = cgroupMounts(readers);
  const v2 = mounts.some((mount) => mount.type === 'cgroup2');
  const v1 = mounts.some((mount) => mount.type === 'cgroup' && !/\bname=/.test(mount.options));
  if (v1) return v2 ? 'hybrid' : 'v1';
  return v2 ? 'v2' : 'none';
}

function cgroupMounts({ readFile }: Readers): Mount[] {
  const lines = (readFile('/proc/self/mounts') ?? '').split('\n').map((line) => line.split(' '));
  return lines
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([, point = '', type = '', options = '']) => ({ point, type, options }));
}

function unifiedMount(readers: Readers): string | undefined {
  return cgroupMounts(readers).find((mount) => mount.type === 'cgroup2')?.point;
}

const mode: Check = {
  name: 'cgroups',
  run(readers) {
    const found = cgroupMode(readers);
    if (found === 'v2') return ok('cgroups', 'v2 (unified)');
    if (found === 'hybrid') {
      return ok('cgroups', 'hybrid: limits on v1, kill, freeze and events on the unified tree');
    }
    if (found === 'v1') {
      const cost = 'Process trees are frozen and killed the slower way of v1; buffered writes are not limited.';
      return warn('cgroups', 'v1 alone', cost, 'Boot with systemd.unified_cgroup_hierarchy=1.');
    }
    return missing(
      'cgroups',
      'not mounted',
      'No limits, and no level above basic.',
      'Mount cgroup2 at /sys/fs/cgroup.',
    );
  },
};

/** Controllers, by the names of v2, and what each limits. */
const CONTROLLERS = [
  ['cpu', 'CPU quota and weight'],
  ['cpuset', 'CPUs to run on'],
  ['memory', 'memory and swap'],
  ['pids', 'numbers of processes'],
  ['io', 'disk bandwidth'],
] as const;

const controllers: Check = {
  name: 'cgroup controllers',
  run(readers) {
    const there = availableControllers(readers);
    const lacking = CONTROLLERS.filter(([name]) => !there.has(name));
    if (lacking.length === 0) return ok('cgroup controllers', CONTROLLERS.map(([name]) => name).join(' '));
    const found = `${
      CONTROLLERS.map(([name]) => name)
        .filter((name) => there.has(name))
        .join(' ') || 'none'
    }`;
    const cost = `Not limited: ${lacking.map(([, what]) => what).join(', ')}.`;
    const needed = lacking.some(([name]) => name === 'memory' || name === 'pids');
    const fix = 'Boot without cgroup_disable=, and with cgroup_enable=memory where the kernel asks for it.';
    return needed ? missing('cgroup controllers', found, cost, fix) : warn('cgroup controllers', found, cost, fix);
  },
};

function availableControllers(readers: Readers): Set<string> {
  const unified = unifiedMount(readers);
  const own = unified ? (readers.readFile(`${unified}/cgroup.controllers`) ?? '').trim().split(/\s+/) : [];
  const v1 = cgroupMounts(readers)
    .filter((mount) => mount.type === 'cgroup')
    .flatMap((mount) => mount.options.split(','));
  return new Set([...own, ...v1].map((name) => (name === 'blkio' ? 'io' : name)));
}

const kill: Check = {
  name: 'cgroup.kill',
  run(readers): Finding {
    const unified = unifiedMount(readers);
    // The root of the tree has no such file; any group below it has.
    const group = unified && ownGroup(readers, unified);
    if (group && readers.exists(`${group}/cgroup.kill`)) return ok('cgroup.kill', 'whole trees end at once');
    if (unified && /^(5\.1[4-9]|[6-9]|\d\d)/.test(readers.kernelRelease)) return ok('cgroup.kill', 'in this kernel');
    return warn(
      'cgroup.kill',
      'not there',
      'Process trees are killed one process at a time.',
      'Use Linux 5.14 or later.',
    );
  },
};

/** The directory of this process's group in the unified tree, unless that is the root. */
function ownGroup({ readFile }: Readers, unified: string): string | undefined {
  const path = /^0::(\/.+)$/m.exec(readFile('/proc/self/cgroup') ?? '')?.[1];
  return path ? unified + path : undefined;
}

/** What limits and whole-tree kill rest on. */
export const CGROUP_CHECKS: readonly Check[] = [mode, controllers, kill];
