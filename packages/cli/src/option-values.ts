import { DroverError, parseDuration } from '@drover/core/client';

/** Parsers of flag values. Each throws `usage` with what was wrong. */

const usage = (message: string) => new DroverError('usage', message);

/** A whole number from `min` on. */
export const wholeNumber =
  (flag: string, min = 1) =>
  (value: string): number => {
    const n = Number(value);
    if (Number.isSafeInteger(n) && n >= min && value.trim() !== '') return n;
    throw usage(`${flag} takes a whole number from ${min} on, not '${value}'`);
  };

/** `30s`, `5m`, `1h30m`, `0`. Milliseconds. */
export const milliseconds =
  (flag: string) =>
  (value: string): number => {
    const ms = parseDuration(value);
    if (ms === null) throw usage(`${flag} takes a time such as 30s or 5m, not '${value}'`);
    return ms;
  };

/** One word of a list. */
export const oneOf =
  (flag: string, words: readonly string[]) =>
  (value: string): string => {
    if (words.includes(value)) return value;
    throw usage(`${flag} takes ${words.join(', ')}, not '${value}'`);
  };

/** `KEY=VALUE`, repeatable, gathered into one object. */
export const keyValue =
  (flag: string) =>
  (value: string, previous: unknown): Record<string, string> => {
    const at = value.indexOf('=');
    if (at < 1) throw usage(`${flag} takes KEY=VALUE, not '${value}'`);
    return { ...(previous as Record<string, string> | undefined), [value.slice(0, at)]: value.slice(at + 1) };
  };

/** Repeatable: gathered into a list. */
export const list = (value: string, previous: unknown): string[] => [
  ...((previous as string[] | undefined) ?? []),
  value,
];
