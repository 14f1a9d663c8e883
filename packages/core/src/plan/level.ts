import { type Issue, issueAt, type Source, type WorkSettings } from '../config/index.ts';

/**
 * One of the places that say something about a task, from the most specific one: the task itself, its type, the plan's
 * defaults.
 */
export interface Level {
  /** For messages: ``task `a` ``, ``type `test` ``, `defaults`. */
  title: string;
  kind: 'task' | 'type' | 'defaults';
  settings: WorkSettings;
  /** From the user's own configuration or flags: it may loosen. */
  trusted: boolean;
  source: Source;
  path: readonly PropertyKey[];
}

/** Issue at a key of a level. */
export function levelIssue(
  level: Level,
  path: readonly PropertyKey[],
  message: string,
  hint = '',
  code = 'plan_invalid',
): Issue {
  return issueAt(level.source, [...level.path, ...path], code, message, hint);
}

/** The most specific word on a key; undefined when no level says anything. Null is a word: no limit. */
export function firstSaid<T>(levels: readonly Level[], read: (settings: WorkSettings) => T | undefined): T | undefined {
  for (const level of levels) {
    const value = read(level.settings);
    if (value !== undefined) return value;
  }
  return undefined;
}
