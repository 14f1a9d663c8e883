import { StringDecoder } from 'node:string_decoder';

/** A line longer than this is dropped: an agent's output must not become the engine's memory. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** Cuts a stream of bytes into lines, wherever it was cut before. Memory is bounded by the longest line allowed. */
export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  readonly #onLine: (line: string) => void;
  readonly #onDropped: (bytes: number) => void;
  readonly #max: number;
  #held: string[] = [];
  #heldLength = 0;

  /** `onDropped` hears the length of each line over the cap, when it is over. */
  constructor(onLine: (line: string) => void, onDropped: (length: number) => void, max = MAX_LINE_BYTES) {
    this.#onLine = onLine;
    this.#onDropped = onDropped;
    this.#max = max;
  }

  push(bytes: Uint8Array): void {
    const parts = this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).split('\n');
    const last = parts.pop() ?? '';
    for (const part of parts) {
      this.#hold(part);
      this.#flush();
    }
    this.#hold(last);
  }

  /** The last line may lack its newline. */
  end(): void {
    this.#hold(this.#decoder.end());
    if (this.#heldLength > 0) this.#flush();
  }

  #hold(part: string): void {
    this.#heldLength += part.length;
    if (this.#heldLength > this.#max) this.#held = [];
    else if (part) this.#held.push(part);
  }

  #flush(): void {
    const length = this.#heldLength;
    const line = this.#held.join('');
    this.#held = [];
    this.#heldLength = 0;
    if (length > this.#max) this.#onDropped(length);
    else this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
  }
}
