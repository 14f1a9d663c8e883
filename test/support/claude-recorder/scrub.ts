/** Lists longer than this say nothing more by being complete. */
const MAX_LIST = 6;
/** Lists of names that differ between machines and releases. */
const CUT_LISTS = new Set([
  'tools',
  'slash_commands',
  'terminal_slash_commands',
  'skills',
  'agents',
  'plugins',
  'capabilities',
]);

/** Replaces what is this machine's and this run's, and shortens lists. Every line stays a line with its own shape. */
export class Scrubber {
  readonly #places: readonly [string, string][];
  readonly #ids = new Map<string, string>();

  /** `places`: path on this machine, and what stands for it. Longer ones first. */
  constructor(places: readonly [string, string][]) {
    this.#places = places;
  }

  line(line: string): string {
    let text = line;
    for (const [from, to] of this.#places) text = text.replaceAll(from, to).replaceAll(dashed(from), dashed(to));
    text = text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => this.#uuid(id));
    text = text.replace(/\b(msg|toolu|req)_[0-9a-z]+/g, (id, kind: string) => this.#short(id, kind));
    text = text.replace(/\d{4}-\d\d-\d\dT[0-9:.]+Z/g, '2026-11-01T12:00:00.000Z');
    text = text.replace(/cc-socks\/\d+/g, 'cc-socks/1').replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:4010');
    return shorten(text);
  }

  #uuid(id: string): string {
    const known = this.#ids.get(id) ?? `00000000-0000-4000-8000-${String(this.#ids.size + 1).padStart(12, '0')}`;
    this.#ids.set(id, known);
    return known;
  }

  #short(id: string, kind: string): string {
    const known = this.#ids.get(id) ?? `${kind}_${String(this.#ids.size + 1).padStart(4, '0')}`;
    this.#ids.set(id, known);
    return known;
  }
}

const dashed = (path: string) => path.replace(/[^a-zA-Z0-9]/g, '-');

function shorten(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line), (key, value) =>
      CUT_LISTS.has(key) && Array.isArray(value) ? value.slice(0, MAX_LIST) : value,
    );
  } catch {
    return line;
  }
}
