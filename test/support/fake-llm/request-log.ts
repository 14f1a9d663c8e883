import { appendFileSync } from 'node:fs';

/** One request, and what was answered. */
export interface LoggedRequest {
  method: string;
  path: string;
  /** The wire's name; absent for a request that no wire serves. */
  wire?: string;
  /** Headers but for keys, of which only `set` is kept. */
  headers: Record<string, string>;
  /** The end of the key it came with, so that one can be told from another. */
  key?: string;
  body: Record<string, unknown>;
  prompt?: string;
  /** Index of the turn; -1 for a request without tools. */
  turn?: number;
  /** Status of a scripted error. */
  error?: number;
  reply?: { text: string; tools: string[] };
}

/** Keeps what was asked, in memory and, where a file is given, one JSON object a line. */
export class RequestLog {
  readonly entries: LoggedRequest[] = [];
  readonly #file: string | undefined;

  constructor(file?: string) {
    this.#file = file;
  }

  add(entry: LoggedRequest): void {
    this.entries.push(entry);
    if (this.#file) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
  }
}

const SECRET_HEADERS = new Set(['authorization', 'x-api-key', 'x-goog-api-key', 'cookie']);

/** The last characters of a request's key. */
export function keyEnd(headers: NodeJS.Dict<string | string[]>): string | undefined {
  const key = headers.authorization ?? headers['x-api-key'];
  return typeof key === 'string' ? key.slice(-8) : undefined;
}

/** Headers as they may be written down. */
export function loggableHeaders(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    SECRET_HEADERS.has(name) ? 'set' : String(value),
  ]);
  return Object.fromEntries(entries);
}
