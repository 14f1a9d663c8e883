import {
  type Config,
  formatPlace,
  type Issue,
  type LimitSettings,
  type LoadedConfig,
  loosens,
  toLimits,
} from '../config/index.ts';
import { exactBytes } from '../shared/units.ts';
import { LIMIT_KEYS, LIMIT_RULES, type LimitKey, type Limits } from '../tasks/limits.ts';
import { type Level, levelIssue } from './level.ts';

/** What this machine has; limits above it could never be reached. */
export interface MachineFacts {
  cpus: number;
  memoryBytes: number;
}

export interface LimitsInput {
  levels: readonly Level[];
  config: Config;
  /** Configuration below the plan: what levels that are not the user's own may only tighten. */
  ceiling: LoadedConfig;
  machine?: MachineFacts | undefined;
}

export interface ChosenLimits {
  limits: Limits;
  limitsAsked: LimitKey[];
}

/** Limits of configuration, overlaid by each level from the least specific one. */
export function chooseLimits({ levels, config, ceiling, machine }: LimitsInput, issues: Issue[]): ChosenLimits {
  const settings: LimitSettings = toSettings(config.limits);
  const asked = new Set<LimitKey>(config.limitsAsked);
  let bound: Bound = { limits: ceiling.config.limits, holder: (key) => holderInConfig(ceiling, key) };
  for (const level of [...levels].reverse()) {
    const own = level.settings.limits ?? {};
    if (level.trusted) bound = raised(bound, level, own);
    else refuseLooser(level, own, bound, issues);
    refuseImpossible(level, own, machine, issues);
    Object.assign(settings, own);
    for (const key of saidKeys(own)) asked.add(key);
  }
  const limits = toLimits(settings);
  return { limits, limitsAsked: LIMIT_KEYS.filter((key) => asked.has(key) && limits[key] !== undefined) };
}

/** What the user's own word allows, and where it stands. */
interface Bound {
  limits: Limits;
  holder: (key: LimitKey) => string;
}

function toSettings(limits: Limits): LimitSettings {
  return Object.fromEntries(LIMIT_KEYS.map((key) => [LIMIT_RULES[key].key, limits[key]]));
}

function saidKeys(settings: LimitSettings): LimitKey[] {
  return LIMIT_KEYS.filter((key) => settings[LIMIT_RULES[key].key] !== undefined);
}

function holderInConfig(ceiling: LoadedConfig, key: LimitKey): string {
  const origin = ceiling.provenance.get(`limits.${LIMIT_RULES[key].key}`);
  return origin === undefined ? 'the shipped defaults' : formatPlace(origin);
}

function raised(bound: Bound, level: Level, own: LimitSettings): Bound {
  const said = new Set(saidKeys(own));
  return {
    limits: toLimits({ ...toSettings(bound.limits), ...own }),
    holder: (key) => (said.has(key) ? level.title : bound.holder(key)),
  };
}

function refuseLooser(level: Level, own: LimitSettings, bound: Bound, issues: Issue[]): void {
  for (const key of saidKeys(own)) {
    const { tighten, key: name } = LIMIT_RULES[key];
    const held = bound.limits[key];
    const said = own[name];
    if (tighten === null || !loosens({ tighten }, held, said)) continue;
    const message = `${level.title} would loosen \`${name}\` from ${show(key, held)} (${bound.holder(key)}) to ${show(key, said)}`;
    const hint = `A plan may only tighten: set \`limits.${name}\` in your own configuration or by a flag.`;
    issues.push(levelIssue(level, ['limits', name], message, hint, 'config_untrusted'));
  }
}

function refuseImpossible(level: Level, own: LimitSettings, machine: MachineFacts | undefined, issues: Issue[]): void {
  for (const [name, problem] of impossibleLimits(toLimits(own), machine)) {
    issues.push(levelIssue(level, ['limits', name], problem));
  }
}

/** Limits above what the machine has, by their keys in files. */
export function impossibleLimits(limits: Limits, machine: MachineFacts | undefined): [name: string, problem: string][] {
  if (machine === undefined) return [];
  const problems: [string, string][] = [];
  if ((limits.cpus ?? 0) > machine.cpus) {
    problems.push(['cpus', `${limits.cpus} CPUs are more than the ${machine.cpus} of this machine`]);
  }
  if ((limits.memory ?? 0) > machine.memoryBytes) {
    const has = exactBytes(Math.floor(machine.memoryBytes / 1024 ** 2) * 1024 ** 2);
    problems.push(['memory', `${exactBytes(limits.memory!)} are more than the ${has} of this machine`]);
  }
  return problems;
}

function show(key: LimitKey, value: number | string | null | undefined): string {
  if (value === null || value === undefined) return 'none';
  const { unit } = LIMIT_RULES[key];
  return typeof value === 'number' && (unit === 'bytes' || unit === 'rate') ? exactBytes(value) : String(value);
}
