import { exactBytes, formatDuration } from '../shared/units.ts';
import type { KeyMeta, ValueKind } from './key-meta.ts';

const FORMATS: Partial<Record<ValueKind, (value: never) => string>> = {
  size: exactBytes,
  rate: (value: number) => `${exactBytes(value)}/s`,
  duration: formatDuration,
  percent: (value: number) => `${value}%`,
};

/** A value as a file would write it. */
export function showValue(meta: KeyMeta, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  const format = FORMATS[meta.kind] as ((value: unknown) => string) | undefined;
  if (format !== undefined) return format(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
