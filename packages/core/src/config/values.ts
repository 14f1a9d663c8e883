import * as z from 'zod';
import { DroverError } from '../shared/errors.ts';
import { parseBytes, parseCpus, parseDuration, parsePercent, parseRate } from '../shared/units.ts';
import { PRIORITIES } from '../tasks/definition.ts';
import type { LimitRule, LimitUnit } from '../tasks/limits.ts';
import { parseCpuset } from './cpuset.ts';
import { didYouMean } from './suggest.ts';

/** Schemas of the single values that files hold. Each refuses with one sentence and a hint of its own. */

/** A value that is not what its key takes. */
export function badValue(message: string, hint = ''): DroverError {
  return new DroverError('value_invalid', message, hint);
}

/** Schema of a value that `parse` reads; what it throws becomes the issue. */
export function parsed<T>(parse: (value: unknown) => T): z.ZodType<T> {
  return z.unknown().transform((value, context): T => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof DroverError)) throw error;
      context.issues.push({ code: 'custom', message: error.message, input: value, params: { hint: error.hint } });
      return z.NEVER;
    }
  }) as unknown as z.ZodType<T>;
}

/** What a value is, for messages. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'string') return value.length > 60 ? `\`${value.slice(0, 60)}...\`` : `\`${value}\``;
  return `\`${String(value)}\``;
}

/** Text or number; nothing else is ever a unit. */
function scalar(value: unknown, what: string): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  throw badValue(`must be ${what}, is ${describe(value)}`);
}

/** Text without NUL, which no argument, path or variable can hold. */
export function plainText(value: unknown, what = 'a text'): string {
  if (typeof value === 'number' || typeof value === 'boolean') {
    throw badValue(`must be ${what}, is ${describe(value)}`, `Put it in quotes: "${value}".`);
  }
  if (typeof value !== 'string') throw badValue(`must be ${what}, is ${describe(value)}`);
  if (value.trim() === '') throw badValue(`must be ${what}, is empty`);
  if (value.includes('\0')) throw badValue('holds a NUL character');
  return value;
}

export const text = (what?: string): z.ZodType<string> => parsed((value) => plainText(value, what));

/** One word out of a list. */
export function toWord<W extends string>(words: readonly W[], value: unknown): W {
  if (words.includes(value as W)) return value as W;
  const hint = typeof value === 'string' ? didYouMean(value, words) : '';
  throw badValue(`must be one of ${words.join(', ')}; is ${describe(value)}`, hint);
}

export const word = <W extends string>(words: readonly W[]): z.ZodType<W> => parsed((value) => toWord(words, value));

export const flag = (): z.ZodType<boolean> =>
  parsed((value) => {
    if (value === true || value === 'true') return true;
    if (value === false || value === 'false') return false;
    throw badValue(`must be true or false, is ${describe(value)}`);
  });

/** A number, also as a text of digits: quoted in a file, or from a command line. Anything else stays as it is. */
function numeric(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

function toWhole(value: unknown): number {
  const number = numeric(value);
  if (typeof number === 'number' && Number.isSafeInteger(number)) return number;
  throw badValue(`must be a whole number, is ${describe(value)}`);
}

/** A whole number within bounds. */
export const count = (min: number, max: number): z.ZodType<number> =>
  parsed((value) => within(toWhole(value), min, max, String));

/** A number above zero, such as an amount of money. */
export const amount = (max: number): z.ZodType<number> =>
  parsed((value) => {
    const number = numeric(value);
    if (typeof number === 'number' && number > 0) return within(number, 0, max, String);
    throw badValue(`must be a number above 0, is ${describe(value)}`);
  });

export const percent = (): z.ZodType<number> => parsed((value) => parsePercent(scalar(value, 'a percentage')));

export const size = (min: number): z.ZodType<number> =>
  parsed((value) => within(parseBytes(scalar(value, 'a size')), min, Number.MAX_SAFE_INTEGER, String));

/** A duration of at least `minMs`; `none` (null) where `none` is a sensible wish. */
export function duration(minMs: number, none: 'none' | 'bounded'): z.ZodType<number | null> {
  return parsed((value) => {
    const ms = parseDuration(scalar(value, 'a duration'));
    if (ms === null && none === 'bounded') throw badValue('`none` is not possible here', 'Write a duration.');
    if (ms !== null && ms < minMs) {
      throw badValue(`${describe(value)} is too short: at least ${minMs / 1000}s`, 'Write `none` for no limit.');
    }
    return ms;
  });
}

/** `high`, `medium`, `low`, or a number from 0 to 100. */
export const priority = (): z.ZodType<number> =>
  parsed((value) => {
    const number = numeric(value);
    if (typeof number === 'number' && number >= 0 && number <= 100) return number;
    if (typeof value === 'string' && Object.hasOwn(PRIORITIES, value)) return PRIORITIES[value as 'high'];
    const hint = typeof value === 'string' ? didYouMean(value, Object.keys(PRIORITIES)) : '';
    throw badValue(`must be high, medium, low or a number from 0 to 100; is ${describe(value)}`, hint);
  });

/** A command: a list is its argv; a text goes to `sh -c`. */
export function toCommand(value: unknown): string[] {
  if (typeof value === 'string') return ['sh', '-c', plainText(value, 'a command')];
  if (!Array.isArray(value)) throw badValue(`must be a command (a text or a list), is ${describe(value)}`);
  if (value.length === 0) throw badValue('is an empty command', 'Name the program and its arguments.');
  return value.map((part, index) => {
    if (index > 0 && part === '') return '';
    return plainText(part, index === 0 ? 'the name of a program' : 'an argument');
  });
}

export const command = (): z.ZodType<string[]> => parsed(toCommand);

/** Several commands: one text, or a list of them. */
export const commands = (): z.ZodType<string[][]> =>
  parsed((value) => (Array.isArray(value) ? value.map(toCommand) : [toCommand(value)]));

/** A list of texts. */
export function toTexts(value: unknown, what: string): string[] {
  if (!Array.isArray(value)) throw badValue(`must be a list, is ${describe(value)}`);
  return value.map((item) => plainText(item, what));
}

export const texts = (what: string): z.ZodType<string[]> => parsed((value) => toTexts(value, what));

const LIMIT_PARSERS: Record<LimitUnit, (value: unknown) => number | string> = {
  cpus: (value) => parseCpus(scalar(value, 'a number of CPUs')),
  bytes: (value) => parseBytes(scalar(value, 'a size')),
  rate: (value) => parseRate(scalar(value, 'a rate')),
  cpuset: (value) => parseCpuset(String(scalar(value, 'a list of CPUs'))),
  count: toWhole,
};

/** One limit of the table; null where the file says `none`. */
export function limit(rule: LimitRule): z.ZodType<number | string | null> {
  return parsed((value) => {
    if (value === 'none') return null;
    const parsedValue = LIMIT_PARSERS[rule.unit](value);
    if (typeof parsedValue === 'number') within(parsedValue, rule.min, rule.max, () => String(value));
    return parsedValue;
  });
}

function within(value: number, min: number, max: number, show: (value: number) => string): number {
  if (value < min) throw badValue(`${show(value)} is too little: at least ${showBound(min)}`);
  if (value > max) throw badValue(`${show(value)} is too much: at most ${showBound(max)}`);
  return value;
}

function showBound(bound: number): string {
  const mib = 1024 ** 2;
  return bound >= mib && bound % mib === 0 ? `${bound / mib}M` : String(bound);
}
