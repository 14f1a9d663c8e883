import { StringDecoder } from 'node:string_decoder';
import { cleanText } from '../term/sanitize.ts';

/** Turns an agent's bytes into lines for people. Lines come without their newline and steer no terminal. */
export interface LogRenderer {
  push(bytes: Uint8Array): string[];
  /** What was held back. */
  end(): string[];
}

/** A line that does not end is shown in pieces of this size. */
const LINE_MAX = 64 * 1024;

/** Text as it is, without control characters. A lone carriage return ends a line, as progress bars use it. */
export function textRenderer(): LogRenderer {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const take = (text: string): string[] => {
    const lines = (rest + text).split(/\r?\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    while (rest.length > LINE_MAX) {
      lines.push(rest.slice(0, LINE_MAX));
      rest = rest.slice(LINE_MAX);
    }
    return lines.map(cleanText);
  };
  return {
    push: (bytes) => take(decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))),
    end() {
      const left = cleanText(rest + decoder.end());
      rest = '';
      return left === '' ? [] : [left];
    },
  };
}
