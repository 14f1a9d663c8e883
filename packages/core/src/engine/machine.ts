import { readFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';

/** What the machine has and bears at the moment. Bytes; load is the one-minute average. */
export interface Machine {
  cpus: number;
  load1: number;
  memoryTotalBytes: number;
  memoryAvailableBytes: number;
}

/** Reads it from the kernel. `MemAvailable` is the kernel's own estimate of what can be had without swapping. */
export async function readMachine(): Promise<Machine> {
  const meminfo = await readFile('/proc/meminfo', 'utf8');
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(meminfo)?.[1] ?? 0);
  return {
    cpus: availableParallelism(),
    load1: loadavg()[0] ?? 0,
    memoryTotalBytes: kib('MemTotal') * 1024,
    memoryAvailableBytes: kib('MemAvailable') * 1024,
  };
}
