import { DroverError } from './errors.ts';

/**
 * Sizes, rates, durations, CPUs and percentages, as people write them and back.
 *
 * Sizes are 1024-based whatever the suffix: `2G`, `2GB` and `2GiB` are the same. A bare number is bytes.
 * Durations need a unit (`30s`, `5m`, `1h30m`): a bare `30` means seconds to some and minutes to others, so only `0` may
 * stand alone. `none` is no limit.
 */

/** What cannot be read as the unit it should be. */
export class UnitError extends DroverError {
  override readonly name = 'UnitError';

  constructor(message: string, hint: string) {
    super('unit_invalid', message, hint);
  }
}

const KIB = 1024;
const BYTE_UNITS = ['B', 'K', 'M', 'G', 'T'] as const;
const SIZE_HINT = 'Write a size such as `512M` or `2G`; a bare number is bytes.';

/** Units of durations, largest first. */
const DURATION_UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;
const DURATION_HINT = 'Write a duration such as `30s`, `5m` or `1h30m`, or `none` for no limit.';
/** Eleven years: a longer limit is a slip, and timers overflow long before the numbers do. */
const DURATION_MAX_MS = 4000 * 86_400_000;

/** Bytes of `2G`, `512M`, `1.5GiB`, `4096`. Fractions of a byte are dropped. */
export function parseBytes(value: string | number): number {
  if (typeof value === 'number') return wholeBytes(value, String(value));
  const match = /^(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?$/i.exec(value.trim());
  if (!match) throw new UnitError(`${quote(value)} is not a size`, SIZE_HINT);
  const power = match[2] === undefined ? 0 : BYTE_UNITS.indexOf(match[2].toUpperCase() as 'K');
  return wholeBytes(Number(match[1]) * KIB ** power, value);
}

function wholeBytes(bytes: number, written: string): number {
  if (!Number.isFinite(bytes) || bytes < 0) throw new UnitError(`${quote(written)} is not a size`, SIZE_HINT);
  const whole = Math.floor(bytes);
  if (!Number.isSafeInteger(whole)) throw new UnitError(`${quote(written)} is too large for a size`, SIZE_HINT);
  return whole;
}

/** Bytes per second of `10MB/s`, `5M`, `1048576`. */
export function parseRate(value: string | number): number {
  try {
    return parseBytes(typeof value === 'string' ? value.trim().replace(/\s*\/\s*s(?:ec)?$/i, '') : value);
  } catch {
    throw new UnitError(
      `${quote(value)} is not a rate`,
      'Write a rate such as `10MB/s`; a bare number is bytes per second.',
    );
  }
}

/** Milliseconds of `30s`, `1h30m`, `500ms`, `0`; null for `none`. */
export function parseDuration(value: string | number): number | null {
  const text = String(value).trim().toLowerCase();
  if (text === 'none') return null;
  if (text === '0') return 0;
  if (/^\d+(\.\d+)?$/.test(text)) {
    throw new UnitError(`${quote(value)} has no unit`, `Write \`${text}s\`, \`${text}m\` or \`${text}h\`.`);
  }
  const ms = durationParts(text);
  if (ms === null) throw new UnitError(`${quote(value)} is not a duration`, DURATION_HINT);
  if (ms > DURATION_MAX_MS) throw new UnitError(`${quote(value)} is too long`, 'Write `none` for no limit.');
  return ms;
}

/** Sum of the parts, units from large to small and each once; null when the text is something else. */
function durationParts(text: string): number | null {
  let rest = text;
  let sum = 0;
  let read = 0;
  for (const [unit, ms] of DURATION_UNITS) {
    const match = new RegExp(`^(\\d+(?:\\.\\d+)?)\\s*${unit}(?![a-z])\\s*`).exec(rest);
    if (!match) continue;
    sum += Number(match[1]) * ms;
    rest = rest.slice(match[0].length);
    read += 1;
  }
  return read === 0 || rest !== '' ? null : Math.round(sum);
}

/** CPUs of `0.5`, `"2"`, `2`. More than none, to a hundredth. */
export function parseCpus(value: string | number): number {
  const hint = 'Write a number of CPUs such as `0.5` (half a CPU) or `2`.';
  const cpus = typeof value === 'number' ? value : plainNumber(value);
  if (cpus === null || !Number.isFinite(cpus)) throw new UnitError(`${quote(value)} is not a number of CPUs`, hint);
  const rounded = Math.round(cpus * 100) / 100;
  if (rounded <= 0) throw new UnitError(`${quote(value)} is too little: at least a hundredth of a CPU`, hint);
  return rounded;
}

/** A percentage from 0 to 100: `80`, `"80"`, `"80%"`. */
export function parsePercent(value: string | number): number {
  const percent = typeof value === 'number' ? value : plainNumber(value.trim().replace(/\s*%$/, ''));
  if (percent === null || !(percent >= 0 && percent <= 100)) {
    throw new UnitError(`${quote(value)} is not a percentage`, 'Write a number from 0 to 100, such as `80`.');
  }
  return percent;
}

function plainNumber(text: string): number | null {
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null;
}

function quote(value: string | number): string {
  const text = String(value);
  return `\`${text.length > 60 ? `${text.slice(0, 60)}...` : text}\``;
}

/** Exactly that many bytes, in the largest unit that divides them: `2G`, `1536M`, `1000`. Reads back as the same number. */
export function exactBytes(bytes: number): string {
  let power = 0;
  let rest = bytes;
  while (rest > 0 && rest % KIB === 0 && power < BYTE_UNITS.length - 1) {
    rest /= KIB;
    power += 1;
  }
  return power === 0 ? String(bytes) : `${rest}${BYTE_UNITS[power]}`;
}

/** Bytes for people, to one decimal: `3.1 GB`, `512 MB`. */
export function formatBytes(bytes: number): string {
  let power = 0;
  let rest = bytes;
  // Rounded first, or 1023.97 would come out as `1024 MB`.
  while (Math.round(rest * 10) / 10 >= KIB && power < BYTE_UNITS.length - 1) {
    rest /= KIB;
    power += 1;
  }
  const unit = BYTE_UNITS[power];
  return power === 0 ? `${Math.round(rest)} B` : `${Math.round(rest * 10) / 10} ${unit}B`;
}

/** Bytes per second for people: `10 MB/s`. */
export function formatRate(bytesPerSecond: number): string {
  return `${formatBytes(bytesPerSecond)}/s`;
}

/** `1h30m`, `45s`, `250ms`; `none` for null. Exact to the millisecond, reads back as the same number. */
export function formatDuration(ms: number | null): string {
  if (ms === null) return 'none';
  let rest = Math.round(ms);
  if (rest === 0) return '0';
  let text = '';
  for (const [unit, size] of DURATION_UNITS) {
    const count = Math.floor(rest / size);
    if (count === 0) continue;
    text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}

/** `0.5 CPUs`, `1 CPU`. */
export function formatCpus(cpus: number): string {
  return `${cpus} ${cpus === 1 ? 'CPU' : 'CPUs'}`;
}

/** `80 %`. */
export function formatPercent(percent: number): string {
  return `${percent} %`;
}
