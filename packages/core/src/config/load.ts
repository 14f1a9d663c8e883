import { type AdapterInfo, findAdapter, unknownAgentHint } from './adapters.ts';
import { issueAt } from './check.ts';
import { buildConfig, type Config } from './config.ts';
import { defaultsLayer, type Entry, type Layer, type Origin, readLayer } from './entries.ts';
import { flagsSource } from './flags-source.ts';
import { type Issue, throwIssues } from './issues.ts';
import { LAYER_NAMES, type LayerName } from './layers.ts';
import { notYetWarnings } from './not-yet.ts';
import { parseSource, type Source, type SourceText } from './source.ts';
import { trustIssue } from './trust.ts';

/** Texts of the layers; what is absent says nothing. */
export interface ConfigInput {
  /** The user's own file (see `userConfigFile`). */
  user?: SourceText | null;
  /** `.drover/config.yaml` of the repository's base commit. */
  repository?: SourceText | null;
  /** Dotted keys and values. */
  flags?: Readonly<Record<string, unknown>>;
  /** The flag that stands for a key, for messages: `execution_engine.isolation_level` is `--isolation`. */
  flagLabel?: (key: string) => string;
  /** Agents that there are; absent: names of agents are not checked. */
  adapters?: readonly AdapterInfo[];
}

/** Configuration that has been read: what holds, where each value comes from, and what is to be said about it. */
export interface LoadedConfig {
  readonly config: Config;
  /** By canonical key. */
  readonly provenance: ReadonlyMap<string, Origin>;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly warnings: readonly string[];
  readonly layers: readonly Layer[];
}

/** Reads all layers but the plan's. Throws {@link ConfigError} with everything that is wrong in any of them. */
export function loadConfig(input: ConfigInput = {}): LoadedConfig {
  const issues: Issue[] = [];
  const layers: Layer[] = [defaultsLayer()];
  for (const name of ['user', 'repository'] as const) {
    const text = input[name];
    const source = text ? parseSource(text, 'config_invalid', issues) : null;
    if (source) layers.push(readLayer(name, source, issues));
  }
  if (input.flags) layers.push(readLayer('flags', flagsSource(input.flags, input.flagLabel), issues));
  const loaded = combine(layers, issues);
  if (input.adapters) checkAgents(loaded, input.adapters, issues);
  throwIssues('config_invalid', issues);
  return loaded;
}

/** The same configuration with one more layer, put where it belongs. What is wrong is added to `issues`. */
export function withLayer(loaded: LoadedConfig, name: LayerName, source: Source, issues: Issue[]): LoadedConfig {
  return combine([...loaded.layers, readLayer(name, source, issues)], issues);
}

/** Refuses settings of agents that do not exist: a slip in a name would silently do nothing. */
function checkAgents(loaded: LoadedConfig, adapters: readonly AdapterInfo[], issues: Issue[]): void {
  for (const { key, value, at } of loaded.entries.values()) {
    if (at === undefined || at.path[0] !== 'agents') continue;
    const name = key === 'agents.default' ? String(value) : String(at.path[1]);
    if (findAdapter(adapters, name)) continue;
    const message = `there is no agent \`${name}\``;
    issues.push(issueAt(at.source, at.path, 'config_invalid', message, unknownAgentHint(adapters, name)));
  }
}

function combine(layers: readonly Layer[], issues: Issue[]): LoadedConfig {
  const ordered = [...layers].sort((a, b) => LAYER_NAMES.indexOf(a.name) - LAYER_NAMES.indexOf(b.name));
  const entries = new Map<string, Entry>();
  for (const layer of ordered) {
    for (const entry of layer.entries.values()) {
      const below = entries.get(entry.key);
      const issue = trustIssue(entry, below);
      if (issue) issues.push(issue);
      else entries.set(entry.key, merged(entry, below));
    }
  }
  return {
    config: buildConfig(entries),
    provenance: new Map([...entries].map(([key, entry]) => [key, entry.origin])),
    entries,
    warnings: notYetWarnings(entries.values()),
    layers: ordered,
  };
}

function merged(entry: Entry, below: Entry | undefined): Entry {
  if (entry.meta.merge !== 'append' || below === undefined) return entry;
  const items = [...(below.value as string[]), ...(entry.value as string[])];
  return { ...entry, value: [...new Set(items)] };
}
