import { stripVTControlCharacters } from 'node:util';
import { LineReader } from '../lines.ts';
import { oneLine } from '../text.ts';
import type { AgentReport, OutputParser } from '../types.ts';

/** Remembers the last line that says something: all that can be known of a program without a protocol. */
export class TailParser implements OutputParser {
  readonly #report: AgentReport = { usage: {}, notes: [] };
  readonly #lines = new LineReader(
    (line) => this.#take(line),
    () => {},
    64 * 1024,
  );

  push(bytes: Uint8Array): void {
    this.#lines.push(bytes);
  }

  end(): void {
    this.#lines.end();
  }

  report(): AgentReport {
    return { ...this.#report, notes: [] };
  }

  #take(line: string): void {
    // What a progress bar has overwritten is gone.
    const shown = line.slice(line.lastIndexOf('\r') + 1);
    const text = oneLine(stripVTControlCharacters(shown));
    if (text) this.#report.activity = text;
  }
}
