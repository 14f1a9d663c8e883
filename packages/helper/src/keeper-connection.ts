import { closeSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { KeeperError } from './keeper-error.ts';
import { encodeFrame, type Frame, FrameReader } from './keeper-frames.ts';
import { decodeRecords, encodeRecords, getRecord, type RecordList } from './records.ts';

/** A Unix socket's address has 108 bytes. */
const PATH_MAX = 100;
const GONE = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'ECONNRESET', 'EPIPE']);

/** An open connection to the keeper of `dir`, whose request was answered. */
export interface KeeperConnection {
  socket: Socket;
  answer: RecordList;
}

/**
 * Connects, sends one request and waits for its answer; frames after it go to `onFrame`. Rejects with {@link KeeperError}:
 * `keeper_gone` when nobody answers, else the keeper's own code. `onEnd` is called once when the connection is over.
 */
export function openKeeper(
  dir: string,
  request: RecordList,
  onFrame: (frame: Frame) => void,
  onEnd: () => void,
): Promise<KeeperConnection> {
  return new Promise((resolve, reject) => {
    const reader = new FrameReader();
    let answered = false;
    let ended = false;
    const socket = connectIn(dir);
    const fail = (error: KeeperError): void => {
      socket.destroy();
      if (!answered) reject(error);
      if (!ended) onEnd();
      ended = true;
    };
    socket.once('connect', () => socket.write(encodeFrame('R', encodeRecords(request))));
    socket.on('data', (bytes: Buffer) => {
      try {
        for (const frame of reader.push(bytes)) {
          if (answered) {
            onFrame(frame);
            continue;
          }
          const answer = decodeRecords(frame.payload);
          const error = getRecord(answer, 'error');
          if (error !== undefined) return fail(new KeeperError(error, getRecord(answer, 'message') ?? error));
          answered = true;
          resolve({ socket, answer });
        }
      } catch (error) {
        fail(new KeeperError('bad_frame', `the keeper of ${dir} sent nonsense`, { cause: error }));
      }
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const code = GONE.has(error.code ?? '') ? 'keeper_gone' : 'keeper_unreachable';
      fail(new KeeperError(code, `the keeper of ${dir}: ${error.message}`, { cause: error }));
    });
    socket.once('close', () => fail(new KeeperError('keeper_gone', `the keeper of ${dir} has ended`)));
  });
}

/** One request with one answer. */
export async function askKeeper(dir: string, request: RecordList): Promise<RecordList> {
  const { socket, answer } = await openKeeper(
    dir,
    request,
    () => undefined,
    () => undefined,
  );
  socket.destroy();
  return answer;
}

function connectIn(dir: string): Socket {
  const path = join(dir, 'keeper.sock');
  if (Buffer.byteLength(path) <= PATH_MAX) return connect(path);
  // A long path does not fit into an address; by way of an open directory it is always short.
  let fd: number;
  try {
    fd = openSync(dir, 'r');
  } catch (error) {
    const absent = connect(`/proc/self/fd/-1/keeper.sock`);
    absent.once('error', () => error);
    return absent;
  }
  const socket = connect(`/proc/self/fd/${fd}/keeper.sock`);
  let open = true;
  const release = (): void => {
    if (open) closeSync(fd);
    open = false;
  };
  socket.once('connect', release);
  socket.once('close', release);
  return socket;
}
