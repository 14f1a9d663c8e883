import { closeSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { KeeperError } from './keeper-error.ts';
import { encodeFrame, type Frame, FrameReader } from './keeper-frames.ts';
import { decodeRecords, encodeRecords, getRecord, type RecordList } from './records.ts';

/** A Unix socket's address has 108 bytes. */
const PATH_MAX = 100;
const GONE = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'ECONNRESET', 'EPIPE']);
/** A full queue of connections is soon shorter. */
const QUEUE_FULL_RETRIES = 50;
const QUEUE_FULL_WAIT_MS = 50;

/** An open connection to the keeper of `dir`, whose request was answered. */
export interface KeeperConnection {
  socket: Socket;
  answer: RecordList;
}

/**
 * Connects, sends one request and waits for its answer; frames after it go to `onFrame`. Rejects with {@link KeeperError}:
 * `keeper_gone` when nobody answers, else the keeper's own code. `onEnd` is called once when the answered connection is over.
 */
export async function openKeeper(
  dir: string,
  request: RecordList,
  onFrame: (frame: Frame) => void,
  onEnd: () => void,
): Promise<KeeperConnection> {
  const bytes = encodeRequest(request);
  const socket = await connectIn(dir);
  return new Promise((resolve, reject) => {
    const reader = new FrameReader();
    let answered = false;
    let ended = false;
    const fail = (error: KeeperError): void => {
      socket.destroy();
      if (ended) return;
      ended = true;
      if (answered) onEnd();
      else reject(error);
    };
    const handle = (frame: Frame): void => {
      if (answered) {
        onFrame(frame);
        return;
      }
      const answer = decodeRecords(frame.payload);
      const code = getRecord(answer, 'error');
      if (code === undefined) {
        answered = true;
        resolve({ socket, answer });
      } else {
        fail(new KeeperError(code, getRecord(answer, 'message') ?? code));
      }
    };
    socket.on('data', (data: Buffer) => {
      try {
        for (const frame of reader.push(data)) if (!ended) handle(frame);
      } catch (error) {
        fail(new KeeperError('bad_frame', `the keeper of ${dir} sent nonsense`, { cause: error }));
      }
    });
    socket.on('error', (error: NodeJS.ErrnoException) => fail(connectionError(dir, error)));
    socket.once('close', () => fail(new KeeperError('keeper_gone', `the keeper of ${dir} has ended`)));
    socket.write(encodeFrame('R', bytes));
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

function encodeRequest(request: RecordList): Buffer {
  try {
    return encodeRecords(request);
  } catch (error) {
    throw new KeeperError('bad_request', (error as Error).message, { cause: error });
  }
}

function connectionError(dir: string, error: NodeJS.ErrnoException): KeeperError {
  const code = GONE.has(error.code ?? '') ? 'keeper_gone' : 'keeper_unreachable';
  return new KeeperError(code, `the keeper of ${dir}: ${error.message}`, { cause: error });
}

async function connectIn(dir: string): Promise<Socket> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await connectOnce(dir);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EAGAIN' || attempt === QUEUE_FULL_RETRIES)
        throw connectionError(dir, error as NodeJS.ErrnoException);
      await delay(QUEUE_FULL_WAIT_MS);
    }
  }
}

function connectOnce(dir: string): Promise<Socket> {
  const path = join(dir, 'keeper.sock');
  if (Buffer.byteLength(path) <= PATH_MAX) return connected(connect(path));
  // A long path does not fit into an address; by way of an open directory it is always short.
  return new Promise((resolve, reject) => {
    const fd = openSync(dir, 'r');
    connected(connect(`/proc/self/fd/${fd}/keeper.sock`))
      .finally(() => closeSync(fd))
      .then(resolve, reject);
  });
}

function connected(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
