import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** One process as /proc shows it. What may not be read is empty. */
export interface ProcessView {
  pid: number;
  ppid: number;
  state: string;
  command: string;
  environment: string;
  cwd: string;
  cgroups: string;
}

/** Every process of the machine that is still there while it is looked at. */
export function processes(): ProcessView[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => view(Number(name)) ?? []);
}

/** True for a process that exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  const seen = view(pid);
  return seen !== undefined && seen.state !== 'Z';
}

function view(pid: number): ProcessView | undefined {
  const status = read(`/proc/${pid}/stat`);
  // The name in parentheses may itself hold spaces and parentheses.
  const rest = status.slice(status.lastIndexOf(')') + 2).split(' ');
  if (rest.length < 2) return undefined;
  return {
    pid,
    state: rest[0]!,
    ppid: Number(rest[1]),
    command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim(),
    environment: read(`/proc/${pid}/environ`),
    cwd: link(`/proc/${pid}/cwd`),
    cgroups: read(`/proc/${pid}/cgroup`),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
