import { LAYERS, type LoadedConfig, type WorkSettings } from '../config/index.ts';
import type { Level } from './level.ts';

/** What configuration says about tasks of a type; null when there is no such type. */
export function typeLevel(loaded: LoadedConfig, type: string): Level | null {
  const entry = loaded.entries.get(`types.${type}`);
  if (entry?.at === undefined) return null;
  return {
    title: `type \`${type}\``,
    kind: 'type',
    settings: entry.value as WorkSettings,
    trusted: LAYERS[entry.origin.layer].trusted,
    source: entry.at.source,
    path: entry.at.path,
  };
}
