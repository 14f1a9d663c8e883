import type { Source } from './source.ts';

/** Without a prototype, so that no key of a flag reaches one. */
type Tree = Record<string, unknown>;

/** Flags as a source: dotted keys (`execution_engine.isolation_level`) become a tree. */
export function flagsSource(flags: Readonly<Record<string, unknown>>, label = (key: string) => key): Source {
  const data = tree();
  for (const [key, value] of Object.entries(flags)) {
    if (value !== undefined) place(data, key.split('.'), value);
  }
  return { file: 'flags', data, locate: () => null, label };
}

function tree(from: object = {}): Tree {
  return Object.assign(Object.create(null), from);
}

function place(into: Tree, path: readonly string[], value: unknown): void {
  const [head, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) {
    into[head] = value;
    return;
  }
  const below = into[head];
  const next = tree(typeof below === 'object' && below !== null && !Array.isArray(below) ? below : {});
  into[head] = next;
  place(next, rest, value);
}
