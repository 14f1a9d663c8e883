import { cleanText, safeJson } from './term/sanitize.ts';
import { type Style, styleFor } from './term/style.ts';

type Env = Readonly<Record<string, string | undefined>>;
/** The part of a stream that output needs. */
export type Sink = Pick<NodeJS.WriteStream, 'write' | 'writableLength'> & {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
};

const PENDING_MAX = 256 * 1024;

/** Resolves when at most `most` bytes of a stream are not taken yet. */
export function drained(stream: Sink, most = 0): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength <= most) resolve();
    else stream.write('', () => resolve());
  });
}

/**
 * Where a command writes. With `--json` standard output holds JSON and nothing else; what is meant for people is dropped.
 * Commands clean what agents wrote before they print it (see term/sanitize.ts).
 */
export class Output {
  readonly json: boolean;
  readonly style: Style;
  readonly errStyle: Style;
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly #env: Env;

  constructor(stdout: Sink, stderr: Sink, env: Env, json: boolean) {
    this.stdout = stdout;
    this.stderr = stderr;
    this.json = json;
    this.#env = env;
    this.style = styleFor(stdout.isTTY === true, env);
    this.errStyle = styleFor(stderr.isTTY === true, env);
  }

  /** True where a view may redraw itself. */
  get live(): boolean {
    return !this.json && this.stdout.isTTY === true && this.#env.TERM !== 'dumb';
  }

  /** Columns to fit into; undefined where nothing limits the line. */
  get width(): number | undefined {
    const set = Number.parseInt(this.#env.COLUMNS ?? '', 10);
    if (set > 0) return set;
    return this.stdout.isTTY ? (this.stdout.columns ?? 80) : undefined;
  }

  get height(): number {
    return this.stdout.rows ?? 24;
  }

  /** One line for people. */
  line(text = ''): void {
    if (!this.json) this.stdout.write(`${text}\n`);
  }

  lines(all: Iterable<string>): void {
    for (const text of all) this.line(text);
  }

  /** The one document of `--json`. */
  document(value: unknown): void {
    if (this.json) this.stdout.write(`${safeJson(value, 2)}\n`);
  }

  /** One line of a JSON stream. */
  record(value: unknown): void {
    if (this.json) this.stdout.write(`${safeJson(value)}\n`);
  }

  /** Resolves when little is waiting to be taken, so that a long output stays out of memory. */
  async drained(): Promise<void> {
    await drained(this.stdout, PENDING_MAX);
  }

  /** A remark on standard error, not an error. */
  note(text: string): void {
    if (!this.json) this.stderr.write(`${cleanText(text)}\n`);
  }
}
