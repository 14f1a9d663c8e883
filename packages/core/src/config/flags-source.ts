import type { Source } from './source.ts';

/**
 * Flags as a source: dotted keys (`execution_engine.isolation_level`) become a tree. Values come from a command line, so that
 * a text that is a plain number, `true` or `false` is meant as such.
 */
export function flagsSource(flags: Readonly<Record<string, unknown>>, label = (key: string) => key): Source {
  const data: Record<string, unknown> = Object.create(null);
  for (const [key, value] of Object.entries(flags)) {
    if (value !== undefined) place(data, key.split('.'), plainValue(value));
  }
  return { file: 'flags', data: { ...data }, locate: () => null, label };
}

function place(tree: Record<string, unknown>, path: string[], value: unknown): void {
  const [head, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) {
    tree[head] = value;
    return;
  }
  const below = tree[head];
  const next = typeof below === 'object' && below !== null ? (below as Record<string, unknown>) : {};
  tree[head] = next;
  place(next, rest, value);
}

function plainValue(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  if (value === 'true' || value === 'false') return value === 'true';
  return value;
}
