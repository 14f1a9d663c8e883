import { formatBytes } from '@drover/core/client';

/** Figures for people, all in one place. */

/** `1.4 GB`, in units of 1024 as everywhere; a dash for null. */
export function bytes(n: number | null | undefined): string {
  return n === null || n === undefined ? '-' : formatBytes(n);
}

/** `0.4s`, `12s`, `3m05s`, `2h10m`, `3d04h`; a dash for null. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '-';
  if (ms < 9950) return `${(ms / 1000).toFixed(1)}s`;
  const s = Math.round(ms / 1000);
  const two = (n: number) => String(n).padStart(2, '0');
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h${two(Math.floor(s / 60) % 60)}m`;
  return `${Math.floor(s / 86_400)}d${two(Math.floor(s / 3600) % 24)}h`;
}

/** `14:03:59`, local time. */
export function clockTime(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}

/** `2026-11-03 14:03`, local time; a dash for null. */
export function dateTime(ms: number | null): string {
  if (ms === null) return '-';
  const d = new Date(ms);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`;
}

/** `1 task`, `2 tasks`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** A dash for what is not known. */
export function orDash(value: string | number | null | undefined): string {
  return value === null || value === undefined || value === '' ? '-' : String(value);
}
