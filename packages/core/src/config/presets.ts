/** Sets of values under one name, as a file would write them. The values are canonical keys and parsed values. */
export const PRESET_NAMES = ['article'] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

export interface Preset {
  readonly meaning: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  article: {
    meaning:
      'Half a CPU, 2 GB, little swapping, 10 MB/s read and 5 MB/s written for each of ten agents, a queue of fifty.',
    values: {
      'execution_engine.max_parallel_agents': 10,
      'execution_engine.isolation_level': 'enhanced',
      'limits.cpus': 0.5,
      'limits.memory': 2 * 1024 ** 3,
      'limits.swappiness': 10,
      'limits.read_bps': 10 * 1024 ** 2,
      'limits.write_bps': 5 * 1024 ** 2,
      'execution_engine.scheduling.strategy': 'priority_based',
      'execution_engine.scheduling.max_queue_size': 50,
    },
  },
};
