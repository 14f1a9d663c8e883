import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DroverError } from '@drover/core/client';
import { decodeRecords, encodeRecords, getRecord, type RecordList } from '@drover/helper';
import type { KeeperAttachOptions, KeeperExit, KeeperStream } from './keeper-stream.ts';

/** A frame is a little-endian u32 length of what follows, a type byte, a payload. See docs/helper-protocol.md. */
const FRAME_MAX = 65_537;

/** Attaches to the keeper of the attempt directory `dir`. Throws `not_live` when none answers. */
export async function openKeeper(dir: string, options: KeeperAttachOptions): Promise<KeeperStream> {
  const socket = await dial(join(dir, 'keeper.sock'));
  socket.write(frame('R', encodeRecords(requestOf(options))));
  const frames = readFrames(socket);
  const first = await frames.next();
  if (first.done || first.value.type !== 'A') throw gone();
  const answer = decodeRecords(first.value.payload);
  if (getRecord(answer, 'error')) throw new DroverError('not_live', getRecord(answer, 'message') ?? 'refused');
  return streamOf(socket, frames);
}

function requestOf({ mode, offset, rows, cols }: KeeperAttachOptions): RecordList {
  const size =
    rows && cols
      ? ([
          ['rows', `${rows}`],
          ['cols', `${cols}`],
        ] as const)
      : [];
  return [['op', 'attach'], ['mode', mode], ['offset', `${offset}`], ...size];
}

function streamOf(socket: Socket, frames: AsyncGenerator<Frame>): KeeperStream {
  let settle: (exit: KeeperExit | null) => void = () => {};
  const exit = new Promise<KeeperExit | null>((resolve) => (settle = resolve));
  async function* output(): AsyncGenerator<Uint8Array> {
    let ended: KeeperExit | null = null;
    try {
      for await (const { type, payload } of frames) {
        if (type === 'O') yield payload;
        if (type === 'V') ended = exitOf(decodeRecords(payload)) ?? ended;
        if (ended) return;
      }
    } finally {
      socket.destroy();
      settle(ended);
    }
  }
  return {
    output: output(),
    exit,
    write: (bytes) => void socket.write(frame('I', bytes)),
    resize: (rows, cols) =>
      void socket.write(
        frame(
          'R',
          encodeRecords([
            ['op', 'resize'],
            ['rows', `${rows}`],
            ['cols', `${cols}`],
          ]),
        ),
      ),
    close: () => void socket.destroy(),
  };
}

function exitOf(records: RecordList): KeeperExit | null {
  if (getRecord(records, 'event') !== 'exit') return null;
  const number = (key: string) => {
    const value = getRecord(records, key);
    return value === undefined ? null : Number(value);
  };
  return { code: number('code'), signal: number('signal') };
}

interface Frame {
  type: string;
  payload: Buffer;
}

async function* readFrames(socket: Socket): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of socket) {
      rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      while (rest.length >= 4) {
        const length = rest.readUInt32LE(0);
        if (length < 1 || length > FRAME_MAX)
          throw new DroverError('not_live', 'The keeper sent a frame that is none.');
        if (rest.length < 4 + length) break;
        yield { type: String.fromCharCode(rest[4] as number), payload: rest.subarray(5, 4 + length) };
        rest = rest.subarray(4 + length);
      }
    }
  } catch (error) {
    // A viewer that is cut off has seen all there is; whoever closed it knows why.
    if (error instanceof DroverError) throw error;
  }
}

function frame(type: string, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32LE(payload.length + 1, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, payload]);
}

function dial(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.off('error', fail);
      resolve(socket);
    });
    const fail = () => reject(gone());
    socket.once('error', fail);
  });
}

const gone = () =>
  new DroverError('not_live', 'The agent does not run any more.', 'Read what it wrote: drover logs REF');
