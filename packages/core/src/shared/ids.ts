import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * A new attempt id: `a`, 6 characters of time (seconds, wraps after 34 years) and 5 random ones, so that ids sort by age
 * and stay short enough for host names and socket paths.
 */
export function newAttemptId(nowMs: number): string {
  let time = Math.floor(nowMs / 1000) % 2 ** 30;
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = ALPHABET[time % 32] + text;
    time = Math.floor(time / 32);
  }
  for (const byte of randomBytes(5)) text += ALPHABET[byte % 32];
  return `a${text}`;
}
