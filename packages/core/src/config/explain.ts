import { formatPlace } from './issues.ts';
import { LAYERS, type LayerName } from './layers.ts';
import type { LoadedConfig } from './load.ts';
import { isNotYet } from './not-yet.ts';
import { configSchema } from './schema.ts';
import { schemaKeys } from './schema-walk.ts';
import { showValue } from './show.ts';

/** A line of `drover config show`. */
export interface ConfigRow {
  /** Canonical key. */
  key: string;
  /** As a file would write it; `none` where there is no value. */
  value: string;
  layer: LayerName;
  /** `~/.config/drover/config.yaml:3:5`, `shipped defaults`, `flags`. */
  where: string;
  /** What is to be known besides: the name it was written as, a preset, no effect yet. */
  notes: string[];
}

/** Every key with its value and the place that set it, in the order of the schema. */
export function explainConfig(loaded: LoadedConfig): ConfigRow[] {
  const order = schemaKeys(configSchema).map(({ path }) => path.join('.'));
  const set = [...loaded.entries.keys()];
  const unset = order.filter((key) => !key.includes('*') && !loaded.entries.has(key) && !isAlias(key));
  return [...set, ...unset].sort((a, b) => place(order, a) - place(order, b)).map((key) => row(loaded, key));
}

const ALIASES = new Set(
  schemaKeys(configSchema)
    .filter(({ meta }) => meta.aliasOf !== undefined)
    .map(({ path }) => path.join('.')),
);

function isAlias(key: string): boolean {
  return ALIASES.has(key);
}

function row(loaded: LoadedConfig, key: string): ConfigRow {
  const entry = loaded.entries.get(key);
  if (!entry) return { key, value: 'none', layer: 'defaults', where: LAYERS.defaults.title, notes: [] };
  const { layer, writtenAs, preset } = entry.origin;
  const notes: string[] = [];
  if (preset !== undefined) notes.push(`preset ${preset}`);
  else if (writtenAs !== key) notes.push(`written as ${writtenAs}`);
  if (isNotYet(key)) notes.push('no effect yet in this version');
  return { key, value: showValue(entry.meta, entry.value), layer, where: formatPlace(entry.origin), notes };
}

function place(order: readonly string[], key: string): number {
  const exact = order.indexOf(key);
  if (exact >= 0) return exact;
  return order.findIndex((pattern) => matches(pattern, key));
}

function matches(pattern: string, key: string): boolean {
  const parts = key.split('.');
  const wanted = pattern.split('.');
  return wanted.length === parts.length && wanted.every((part, index) => part === '*' || part === parts[index]);
}
