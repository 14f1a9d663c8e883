import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { keeperBinary } from './binaries.ts';
import { KeeperError } from './keeper-error.ts';
import { type KeeperSpec, specRecords } from './keeper-spec.ts';
import { decodeRecords, encodeRecords, getRecord } from './records.ts';

const SPEC_FD = 3;
const REPORT_FD = 4;

/**
 * Starts a keeper of level `basic`, which needs no privilege: it makes its own init. It is a session of its own and outlives this
 * process. Resolves when the program runs; rejects with {@link KeeperError} and the reason.
 */
export async function startBasicKeeper(spec: KeeperSpec): Promise<{ keeperPid: number; initPid: number }> {
  const bytes = encodeRecords(specRecords(spec));
  const child = spawn(keeperBinary(), ['run', '--spec-fd', String(SPEC_FD), '--report-fd', String(REPORT_FD)], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
  });
  const report = await new Promise<Buffer>((resolve, reject) => {
    child.once('error', (error) =>
      reject(new KeeperError('spawn_failed', `the keeper cannot be started: ${error.message}`)),
    );
    const chunks: Buffer[] = [];
    const from = child.stdio[REPORT_FD] as Readable;
    from.on('data', (chunk: Buffer) => chunks.push(chunk));
    from.once('end', () => resolve(Buffer.concat(chunks)));
    const to = child.stdio[SPEC_FD] as Writable;
    // A keeper that refuses early closes its end: its report says why.
    to.on('error', () => undefined);
    to.end(bytes);
  });
  child.unref();
  if (report.length === 0) throw new KeeperError('spawn_failed', 'the keeper ended without a word');
  const list = decodeRecords(report);
  const error = getRecord(list, 'error');
  if (error !== undefined) throw new KeeperError(error, getRecord(list, 'message') ?? error);
  return { keeperPid: Number(getRecord(list, 'keeper_pid')), initPid: Number(getRecord(list, 'init_pid')) };
}
