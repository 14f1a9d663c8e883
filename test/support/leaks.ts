import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BASE, carries, MARK_VARIABLE } from './mark.ts';
import { type ProcessView, processes } from './proc.ts';

/** Something that a test left on the machine. */
export interface Leak {
  kind: 'process' | 'cgroup' | 'mount' | 'namespace' | 'socket' | 'directory' | 'user';
  what: string;
}

/** Groups of agents lie a few levels below the root of each hierarchy; deeper ones are theirs. */
const CGROUP_DEPTH = 5;

/** All that carries the mark. */
export function findLeaks(mark: string): Leak[] {
  return [
    ...leakedProcesses(mark),
    ...leakedCgroups(mark),
    ...leakedMounts(mark),
    ...leakedNamespaces(mark),
    ...leakedSockets(mark),
    ...leakedUsers(mark),
    ...leakedDirectories(mark),
  ];
}

/** Waits until nothing carries the mark, at most `patienceMs`: a killed process may take a moment to vanish. */
export async function settledLeaks(mark: string, patienceMs: number): Promise<Leak[]> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const leaks = findLeaks(mark);
    if (leaks.length === 0 || performance.now() > deadline) return leaks;
    await sleep(50);
  }
}

/** The listing that a failed test shows. */
export function describeLeaks(leaks: readonly Leak[]): string {
  return `left behind:\n${leaks.map((leak) => `  ${leak.kind}: ${leak.what}`).join('\n')}`;
}

function leakedProcesses(mark: string): Leak[] {
  return processes()
    .filter((process) => isMarked(process, mark))
    .map(({ pid, ppid, state, command, cwd }) => ({
      kind: 'process',
      what: `${pid} (parent ${ppid}, state ${state}) in ${cwd || '?'}: ${command.slice(0, 200) || '(no command line)'}`,
    }));
}

/** By inheritance of the environment, by its words, by where it stands, or by the group it is in. */
function isMarked(view: ProcessView, mark: string): boolean {
  if (view.pid === process.pid) return false;
  return (
    carries(view.environment, `${MARK_VARIABLE}=${mark}`) ||
    [view.environment, view.command, view.cwd, view.cgroups].some((text) => carries(text, mark))
  );
}

function leakedCgroups(mark: string): Leak[] {
  return cgroupRoots()
    .flatMap((root) => groupsBelow(root, CGROUP_DEPTH))
    .filter((path) => carries(path, mark))
    .map((what) => ({ kind: 'cgroup', what }));
}

/** Mount points of every cgroup hierarchy, v1 and v2. */
function cgroupRoots(): string[] {
  return mountLines()
    .filter((line) => / - cgroup2? /.test(line))
    .map((line) => line.split(' ')[4]!);
}

function groupsBelow(directory: string, depth: number): string[] {
  if (depth === 0) return [];
  const children = subdirectories(directory).map((name) => join(directory, name));
  return children.flatMap((child) => [child, ...groupsBelow(child, depth - 1)]);
}

function subdirectories(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

function mountLines(): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8').split('\n').filter(Boolean);
}

function leakedMounts(mark: string): Leak[] {
  return mountLines()
    .filter((line) => carries(line, mark))
    .map((what) => ({ kind: 'mount', what }));
}

/** A namespace without a process lives on only where it is bound to a file; `ip netns` keeps its own there. */
function leakedNamespaces(mark: string): Leak[] {
  const named = existsSync('/run/netns') ? readdirSync('/run/netns') : [];
  return named.filter((name) => carries(name, mark)).map((name) => ({ kind: 'namespace', what: `/run/netns/${name}` }));
}

function leakedSockets(mark: string): Leak[] {
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n');
  const paths = lines.map((line) => line.trim().split(/\s+/)[7] ?? '');
  return [...new Set(paths)].filter((path) => carries(path, mark)).map((what) => ({ kind: 'socket', what }));
}

function leakedUsers(mark: string): Leak[] {
  const names = readFileSync('/etc/passwd', 'utf8').split('\n');
  return names.filter((line) => carries(line, mark)).map((what) => ({ kind: 'user', what }));
}

function leakedDirectories(mark: string): Leak[] {
  return ['/tmp', '/var/tmp', '/run', '/run/drover', '/dev/shm', BASE]
    .flatMap((parent) => subdirectories(parent).map((name) => join(parent, name)))
    .filter((path) => carries(path, mark))
    .map((what) => ({ kind: 'directory', what }));
}
