import type { RecordList } from './records.ts';

/** What a keeper runs as job 0. Times in milliseconds. */
export interface KeeperSpec {
  /** The keeper's directory: logs, socket, exit record. Absolute. */
  dir: string;
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  tty?: boolean;
  rows?: number;
  cols?: number;
  stderr?: 'split' | 'merge';
  /** A file to read as stdin. Absent: /dev/null. */
  stdin?: string;
  deadlineMs?: number;
  graceMs?: number;
  settleMs?: number;
  /** Bytes per log. */
  logMax?: number;
}

/** The spec as records, for the keeper itself or for the helper's `spawn`. */
export function specRecords(spec: KeeperSpec): RecordList {
  const list: [string, string][] = [
    ['dir', spec.dir],
    ['cwd', spec.cwd],
  ];
  const optional: [string, string | number | boolean | undefined][] = [
    ['tty', spec.tty === undefined ? undefined : Number(spec.tty)],
    ['rows', spec.rows],
    ['cols', spec.cols],
    ['stderr', spec.stderr],
    ['stdin', spec.stdin],
    ['deadline_ms', spec.deadlineMs],
    ['grace_ms', spec.graceMs],
    ['settle_ms', spec.settleMs],
    ['log_max', spec.logMax],
  ];
  for (const [key, value] of optional) if (value !== undefined) list.push([key, String(value)]);
  for (const arg of spec.argv) list.push(['arg', arg]);
  for (const [name, value] of Object.entries(spec.env)) list.push(['env', `${name}=${value}`]);
  return list;
}
