import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExitRecord } from './exit-record.ts';
import { getRecord, type RecordList } from './records.ts';

const CAUSES = ['exit', 'stop', 'timeout_wall', 'init_lost'] as const;

/** The exit record in a keeper's directory; null when there is none (yet). Throws when the file is no exit record. */
export async function readExitRecord(dir: string): Promise<ExitRecord | null> {
  const text = await readFile(join(dir, 'exit'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  if (text === null) return null;
  const lines = text.split('\n').filter(Boolean);
  return parseExitRecord(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

/** The fields of an exit record, from the file or from `V event=exit`. */
export function parseExitRecord(list: RecordList): ExitRecord {
  const optional = (key: string): number | null => {
    const text = getRecord(list, key);
    return text === undefined ? null : Number(text);
  };
  const number = (key: string): number => {
    const value = optional(key);
    if (value === null || !Number.isFinite(value)) throw new Error(`the exit record has no number '${key}'`);
    return value;
  };
  const stalledMs = optional('stalled_ms');
  const cause = CAUSES.find((known) => known === getRecord(list, 'cause'));
  if (!cause) throw new Error(`the exit record has no known cause`);
  return {
    code: optional('code'),
    signal: optional('signal'),
    cause,
    startedMs: number('started_ms'),
    endedMs: number('ended_ms'),
    durationMs: number('duration_ms'),
    utimeUs: number('utime_us'),
    stimeUs: number('stime_us'),
    maxrssKb: number('maxrss_kb'),
    oomKills: optional('oom_kills'),
    stdoutBytes: number('stdout_bytes'),
    stderrBytes: number('stderr_bytes'),
    droppedBytes: number('dropped_bytes'),
    ...(stalledMs === null ? {} : { stalledMs }),
  };
}
