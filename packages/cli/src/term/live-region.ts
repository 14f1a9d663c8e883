import type { Sink } from '../output.ts';

const HIDE = '\u001b[?25l';
const SHOW = '\u001b[?25h';
// Terminals that know it show a frame only when it is whole; others ignore it.
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';

/**
 * Lines at the bottom of the terminal that are redrawn in place. Each line is overwritten and its rest erased, never the screen cleared first:
 * that is what does not flicker. The caller fits lines to the width and their number to the height.
 */
export class LiveRegion {
  readonly #sink: Sink;
  #height = 0;
  #last = '';

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  draw(lines: readonly string[]): void {
    const frame = lines.map((line) => `${line}\u001b[K\n`).join('');
    if (frame === this.#last) return;
    const hide = this.#last === '' ? HIDE : '';
    this.#sink.write(`${hide}${BEGIN}${this.#up()}${frame}\u001b[J${END}`);
    this.#height = lines.length;
    this.#last = frame;
  }

  /** Lines that stay, above the region. */
  print(lines: readonly string[]): void {
    const kept = lines.map((line) => `${line}\u001b[K\n`).join('');
    this.#sink.write(`${BEGIN}${this.#up()}${kept}${this.#last}\u001b[J${END}`);
  }

  /** Erases the region and gives the cursor back. */
  close(): void {
    if (this.#last === '') return;
    this.#sink.write(`${this.#up()}\u001b[J${SHOW}`);
    this.#height = 0;
    this.#last = '';
  }

  #up(): string {
    return this.#height > 0 ? `\r\u001b[${this.#height}A` : '\r';
  }
}
