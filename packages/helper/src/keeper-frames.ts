import { FRAME_MAX } from './records.ts';

/*
 * One frame of a keeper's socket:
 *
 *    0        4     5
 *   +--------+-----+------------ ... -+
 *   | length | type| payload          |
 *   +--------+-----+------------ ... -+
 *     u32 LE   one letter; both counted by length
 */

/** Types of frames; see docs/helper-protocol.md. */
export type FrameType = 'R' | 'A' | 'O' | 'E' | 'I' | 'V' | 'Q';

export interface Frame {
  type: string;
  payload: Buffer;
}

const HEADER = 5;

/** Thrown for bytes that are no frame. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

export function encodeFrame(type: FrameType, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEADER + payload.length);
  frame.writeUInt32LE(payload.length + 1, 0);
  frame.write(type, 4, 'latin1');
  frame.set(payload, HEADER);
  return frame;
}

/** Cuts a stream of bytes into frames, whatever pieces it comes in. Holds one frame at most. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames that are complete with `bytes`. Throws {@link FrameError} for a length that no frame may have. */
  push(bytes: Buffer): Frame[] {
    let data = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const frames: Frame[] = [];
    while (data.length >= 4) {
      const length = data.readUInt32LE(0);
      if (length < 1 || length > FRAME_MAX + 1) throw new FrameError(`a frame of ${length} bytes`);
      if (data.length < 4 + length) break;
      frames.push({ type: String.fromCharCode(data[4]!), payload: data.subarray(HEADER, 4 + length) });
      data = data.subarray(4 + length);
    }
    this.#rest = data;
    return frames;
  }
}
