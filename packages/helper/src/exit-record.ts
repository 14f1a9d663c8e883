/** How job 0 of a keeper ended; the file `exit` of its directory. Units as the names say; counts in bytes. */
export interface ExitRecord {
  code: number | null;
  signal: number | null;
  cause: 'exit' | 'stop' | 'timeout_wall' | 'init_lost';
  startedMs: number;
  endedMs: number;
  durationMs: number;
  utimeUs: number;
  stimeUs: number;
  maxrssKb: number;
  oomKills: number | null;
  stdoutBytes: number;
  stderrBytes: number;
  droppedBytes: number;
  /** How long output stood still because the disk took none; absent: never. */
  stalledMs?: number;
}
