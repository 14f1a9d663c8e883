import type { Finding } from './types.ts';

/** As it should be. */
export const ok = (name: string, found: string): Finding => ({ name, status: 'ok', found, cost: '', fix: '' });

/** Works, with less. */
export const warn = (name: string, found: string, cost: string, fix: string): Finding => ({
  name,
  status: 'warn',
  found,
  cost,
  fix,
});

/** Something drover does cannot be done. */
export const missing = (name: string, found: string, cost: string, fix: string): Finding => ({
  name,
  status: 'missing',
  found,
  cost,
  fix,
});
