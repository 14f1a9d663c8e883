import { checkSource, issueAt } from './check.ts';
import { SHIPPED_DEFAULTS } from './defaults.ts';
import { isSensitiveVariable } from './environment.ts';
import type { Issue } from './issues.ts';
import type { KeyMeta } from './key-meta.ts';
import { LAYERS, type LayerName } from './layers.ts';
import { PRESETS, type PresetName } from './presets.ts';
import { configSchema } from './schema.ts';
import { foundValues, schemaKeys } from './schema-walk.ts';
import type { Source } from './source.ts';

/** Where a value comes from. */
export interface Origin {
  layer: LayerName;
  /** File as named to the loader; `flags`; `shipped defaults`. */
  file: string;
  line: number | null;
  column: number | null;
  /** The key as it was written, which may be another name of it. */
  writtenAs: string;
  /** The preset that gave it, if one did. */
  preset?: string;
}

/** One key's value in one layer. */
export interface Entry {
  /** Canonical key, such as `limits.memory`. */
  key: string;
  value: unknown;
  meta: KeyMeta;
  origin: Origin;
  /** For positions inside the value; absent for shipped defaults. */
  at?: { source: Source; path: string[] };
}

export interface Layer {
  name: LayerName;
  entries: ReadonlyMap<string, Entry>;
}

/** Path pattern (`agents.*.path`) to meta, for values that come without a file. */
const META = new Map(schemaKeys(configSchema).map(({ path, meta }) => [path.join('.'), meta]));

/** The shipped defaults as a layer. */
export function defaultsLayer(): Layer {
  const origin = (key: string): Origin => ({
    layer: 'defaults',
    file: LAYERS.defaults.title,
    line: null,
    column: null,
    writtenAs: key,
  });
  const entries = Object.entries(SHIPPED_DEFAULTS).map(([key, value]): [string, Entry] => [
    key,
    { key, value, meta: metaOf(key), origin: origin(key) },
  ]);
  return { name: 'defaults', entries: new Map(entries) };
}

function metaOf(key: string): KeyMeta {
  const meta = META.get(key);
  if (meta === undefined) throw new Error(`no such configuration key: ${key}`);
  return meta;
}

/** Reads one source as a layer; what is wrong with it is added to `issues`. */
export function readLayer(name: LayerName, source: Source, issues: Issue[]): Layer {
  const settings = checkSource(configSchema, source, 'config_invalid', issues);
  if (settings === undefined) return { name, entries: new Map() };
  const found = foundValues(configSchema, settings).map(({ path, meta, value }): Entry => {
    const at = source.locate(path);
    const writtenAs = path.join('.');
    const origin = { layer: name, file: source.file, line: at?.line ?? null, column: at?.column ?? null, writtenAs };
    return { key: meta.aliasOf ?? writtenAs, value, meta, origin, at: { source, path } };
  });
  const entries = new Map<string, Entry>();
  for (const entry of found.flatMap(presetEntries)) entries.set(entry.key, entry);
  for (const entry of found) setOnce(entries, entry, source, issues);
  refuseSensitive(found, name, source, issues);
  return { name, entries };
}

/** What a preset stands for, at the place that names it. */
function presetEntries(entry: Entry): Entry[] {
  if (entry.key !== 'preset') return [];
  const preset = entry.value as PresetName;
  return Object.entries(PRESETS[preset].values).map(([key, value]) => ({
    ...entry,
    key,
    value,
    meta: metaOf(key),
    origin: { ...entry.origin, preset },
  }));
}

/** Two names of one key in one file leave it open which is meant. */
function setOnce(entries: Map<string, Entry>, entry: Entry, source: Source, issues: Issue[]): void {
  const earlier = entries.get(entry.key);
  if (earlier !== undefined && earlier.origin.preset === undefined) {
    const message = `sets the same as \`${earlier.origin.writtenAs}\``;
    issues.push(issueAt(source, entry.at?.path ?? [], 'config_invalid', message, 'Keep one of them.'));
    return;
  }
  entries.set(entry.key, entry);
}

/** Types of a file that is not the user's own may not name keys or servers. */
function refuseSensitive(found: readonly Entry[], layer: LayerName, source: Source, issues: Issue[]): void {
  if (LAYERS[layer].trusted) return;
  for (const entry of found) {
    const env = entry.key.startsWith('types.') ? (entry.value as { env?: Record<string, string> }).env : undefined;
    for (const name of Object.keys(env ?? {}).filter(isSensitiveVariable)) {
      issues.push(sensitiveIssue(source, [...(entry.at?.path ?? []), 'env', name], name));
    }
  }
}

/** Issue for a variable that only the user's own configuration may set. */
export function sensitiveIssue(source: Source, path: readonly PropertyKey[], name: string): Issue {
  return issueAt(
    source,
    path,
    'config_untrusted',
    `\`${name}\` names a key or the server that keys are sent to: only your own configuration may set it`,
    'Export it and list it under `environment.pass` in your own configuration.',
  );
}
