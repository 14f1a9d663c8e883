/** Layers of configuration, later ones win. `trusted`: the user's own word, which may loosen. */
export const LAYERS = {
  defaults: { title: 'shipped defaults', trusted: true },
  user: { title: 'user configuration', trusted: true },
  repository: { title: "repository's configuration", trusted: false },
  plan: { title: 'plan', trusted: false },
  flags: { title: 'flags', trusted: true },
} as const;

export type LayerName = keyof typeof LAYERS;

export const LAYER_NAMES = Object.keys(LAYERS) as LayerName[];
