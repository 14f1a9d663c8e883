import { createHash } from 'node:crypto';
import type { TaskDefinition } from '../tasks/definition.ts';

/**
 * Which keys make a task another task. `result`: what comes out depends on it. `running`: only when and under which limits it
 * runs; a task that was done stays done when these change.
 */
const KEYS: Readonly<Record<keyof TaskDefinition, 'result' | 'running'>> = {
  id: 'result',
  type: 'result',
  dependsOn: 'result',
  agent: 'result',
  model: 'result',
  prompt: 'result',
  command: 'result',
  verify: 'result',
  expects: 'result',
  base: 'result',
  env: 'result',
  setup: 'result',
  class: 'running',
  priority: 'running',
  limits: 'running',
  limitsAsked: 'running',
  oom: 'running',
  timeoutWallMs: 'running',
  timeoutIdleMs: 'running',
  timeoutSetupMs: 'running',
  timeoutVerifyMs: 'running',
  graceMs: 'running',
  maxAttempts: 'running',
  maxTurns: 'running',
  maxBudgetUsd: 'running',
};

/** Raised when the form below changes. */
const VERSION = 1;

/** Same definition and same base give the same text, whatever the order of keys: sha256 in hex. */
export function taskFingerprint(task: TaskDefinition, baseOid: string): string {
  const names = (Object.keys(KEYS) as (keyof TaskDefinition)[]).filter((name) => KEYS[name] === 'result');
  const definition = names.sort().map((name) => [name, canonical(task[name])]);
  return createHash('sha256')
    .update(JSON.stringify([VERSION, baseOid, definition]))
    .digest('hex');
}

/** Mappings become sorted lists of pairs; what is absent becomes null. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value ?? null;
  const pairs = Object.entries(value).filter(([, item]) => item !== undefined);
  return pairs.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, item]) => [name, canonical(item)]);
}
