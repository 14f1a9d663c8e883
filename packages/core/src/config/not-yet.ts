import type { Entry } from './entries.ts';
import { formatPlace } from './issues.ts';

/** Keys that are accepted, checked, and have no effect in this version: the key, or all keys below it. */
const NOT_YET: readonly { key: string /** A value that already says how it is. */; honest?: unknown }[] = [
  { key: 'execution_engine.scheduling.preemption_enabled', honest: false },
  { key: 'execution_engine.monitoring' },
  { key: 'agents.*.path' },
  { key: 'agents.*.args' },
];

/** Has this key no effect in this version? */
export function isNotYet(key: string): boolean {
  return NOT_YET.some((row) => covers(row.key, key));
}

/** One warning for each row of the table that somebody's file or flags set. */
export function notYetWarnings(entries: Iterable<Entry>): string[] {
  const set = [...entries].filter((entry) => entry.origin.layer !== 'defaults');
  return NOT_YET.flatMap(({ key, honest }) => {
    const hits = set.filter((entry) => covers(key, entry.key) && (honest === undefined || entry.value !== honest));
    const first = hits[0];
    return first === undefined
      ? []
      : [`${formatPlace(first.origin)}: \`${key}\` is accepted, has no effect yet in this version`];
  });
}

/** `*` stands for one name. */
function covers(row: string, key: string): boolean {
  const parts = key.split('.');
  return row.split('.').every((part, i) => (part === '*' ? parts[i] !== undefined : part === parts[i]));
}
