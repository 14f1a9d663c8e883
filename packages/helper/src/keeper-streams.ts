import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { encodeFrame } from './keeper-frames.ts';

const INPUT_MAX = 32 * 1024;

/** What a connection's frames bring, as streams that hold the socket up when they are full. */
export interface OutputStreams {
  /** One stream for each name. */
  streams: Readable[];
  /** Bytes of one stream. */
  push(index: number, bytes: Buffer): void;
  /** All that was said has been said. */
  end(): void;
  /** From now on backpressure reaches this socket. */
  connect(socket: Socket): void;
}

export function outputStreams(count: number): OutputStreams {
  let socket: Socket | undefined;
  const full = new Set<number>();
  const drained = (index: number): void => {
    full.delete(index);
    if (full.size === 0) socket?.resume();
  };
  const streams = Array.from(
    { length: count },
    (_, index) =>
      new Readable({
        read: () => drained(index),
        // Whoever gives a stream up does not hold the others up.
        destroy(error, done) {
          drained(index);
          done(error);
        },
      }),
  );
  return {
    streams,
    push(index, bytes) {
      const stream = streams[index]!;
      if (stream.destroyed || stream.push(bytes)) return;
      full.add(index);
      socket?.pause();
    },
    end() {
      for (const stream of streams) if (!stream.destroyed && !stream.readableEnded) stream.push(null);
    },
    connect(connected) {
      socket = connected;
      if (full.size > 0) socket.pause();
    },
  };
}

/**
 * Writes to a connection as `I` frames. With `endsByFrame` its end is told, for a command's stdin. What is written after the other
 * side has gone is dropped, as the end of the program tells more than a failed write would.
 */
export function inputStream(socket: Socket, endsByFrame: boolean): Writable {
  const write = (chunk: Uint8Array, done: () => void): void => {
    const gone = socket.destroyed || !socket.writable;
    if (gone || socket.write(encodeFrame('I', chunk))) {
      done();
      return;
    }
    const go = (): void => {
      socket.off('drain', go);
      socket.off('close', go);
      done();
    };
    socket.on('drain', go);
    socket.on('close', go);
  };
  const writeFrom = (chunk: Buffer, at: number, done: () => void): void => {
    if (at >= chunk.length) done();
    else write(chunk.subarray(at, at + INPUT_MAX), () => writeFrom(chunk, at + INPUT_MAX, done));
  };
  const end = (done: () => void): void => (endsByFrame ? write(Buffer.alloc(0), done) : done());
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => writeFrom(chunk, 0, done),
    final: end,
    // A source that failed leaves a reader behind, which has to learn that nothing more comes.
    destroy(error, done) {
      if (this.writableFinished) done(error);
      else end(() => done(error));
    },
  });
}
