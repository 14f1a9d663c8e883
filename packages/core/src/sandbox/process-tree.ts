import { readdir, readFile } from 'node:fs/promises';
import type { SandboxStats } from './types.ts';

/** USER_HZ, which the kernel fixes at 100 for what it tells user space. */
const TICK_US = 10_000;
const PAGE_BYTES = 4096;

interface ProcessFacts {
  parent: number;
  cpuUs: number;
  rssBytes: number;
}

/**
 * Figures of a process and all below it, added up from /proc: what `basic` has in place of a cgroup. CPU includes that of
 * children which were waited for. A process that ends while it is read is left out.
 */
export async function processTree(root: number): Promise<SandboxStats> {
  const all = new Map<number, ProcessFacts>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const facts = await readFacts(Number(name));
    if (facts) all.set(Number(name), facts);
  }
  const total = { cpuUs: 0, memoryBytes: 0, pids: 0 };
  for (const [pid, facts] of all) {
    if (!descends(pid, root, all)) continue;
    total.cpuUs += facts.cpuUs;
    total.memoryBytes += facts.rssBytes;
    total.pids += 1;
  }
  return { ...total, populated: total.pids > 0 };
}

function descends(pid: number, root: number, all: ReadonlyMap<number, ProcessFacts>): boolean {
  for (let at = pid, steps = 0; at > 1 && steps < 1000; steps++) {
    if (at === root) return pid !== root;
    at = all.get(at)?.parent ?? 0;
  }
  return false;
}

async function readFacts(pid: number): Promise<ProcessFacts | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  // The name may hold blanks and brackets: the fields begin after the last bracket, at number 3.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [utime, stime, cutime, cstime] = [fields[11]!, fields[12]!, fields[13]!, fields[14]!];
  return {
    parent: fields[1]!,
    cpuUs: (utime + stime + cutime + cstime) * TICK_US,
    rssBytes: fields[21]! * PAGE_BYTES,
  };
}
