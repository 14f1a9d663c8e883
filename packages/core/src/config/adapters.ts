import { didYouMean } from './suggest.ts';

/** What configuration and plans must know of an agent. */
export interface AdapterInfo {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly takes: 'prompt' | 'command';
}

/** The agent of a name or of one of its other names. */
export function findAdapter<A extends AdapterInfo>(adapters: readonly A[], name: string): A | undefined {
  return adapters.find((adapter) => adapter.name === name || adapter.aliases.includes(name));
}

/** What to do about a name that is none: the nearest one, else all of them. */
export function unknownAgentHint(adapters: readonly AdapterInfo[], name: string): string {
  const names = adapters.map((adapter) => adapter.name);
  const aliases = adapters.flatMap((adapter) => adapter.aliases);
  return didYouMean(name, [...names, ...aliases]) || `There are: ${names.join(', ')}.`;
}
