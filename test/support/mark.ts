import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * How a test run and each of its files name what they make, so that whatever they leave behind can be told from all else
 * on the machine: by a word in the environment, in paths and in cgroup names.
 */
export const RUN_VARIABLE = 'DROVER_TEST_RUN';
export const MARK_VARIABLE = 'DROVER_TEST_MARK';

/** A word that only this run uses, e.g. `dt4f09ac`. Chosen once, by the global set-up. */
export function newRun(): string {
  return `dt${randomBytes(3).toString('hex')}`;
}

/** The word of one test file: vitest gives every file a process of its own. */
export function fileMark(run: string): string {
  return `${run}-${process.pid}`;
}

/** Parent of every test directory. Not below /tmp, which a sandbox hides, and short, for the sake of socket paths. */
export const BASE = process.getuid?.() === 0 ? '/var/lib' : join(homedir(), '.cache');

/** True where `text` holds the mark itself and not a longer one that begins alike. */
export function carries(text: string, mark: string): boolean {
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) {
    if (!/[0-9a-f]/.test(text[at + mark.length] ?? '')) return true;
  }
  return false;
}

/** The mark of the file that is running now. */
export function currentMark(): string {
  const mark = process.env[MARK_VARIABLE];
  if (!mark) throw new Error(`${MARK_VARIABLE} is not set: test/support/setup-file.ts has to run before any test`);
  return mark;
}
