import { DroverError } from '../shared/errors.ts';
import { gitLine } from './git.ts';

/** `git merge-tree --write-tree` and `safe.bareRepository` are of 2.38. */
const OLDEST: readonly [number, number] = [2, 38];

let checked: Promise<string> | null = null;

/** The version of the host's git, e.g. `2.39.5`. */
export async function gitVersion(): Promise<string> {
  const line = await gitLine(null, ['version']);
  return /(\d+\.\d+[\d.]*)/.exec(line)?.[1]?.replace(/\.$/, '') ?? line;
}

/** Rejects with `git_too_old`. The answer is kept: git is asked once. */
export async function requireGitVersion(): Promise<void> {
  checked ??= gitVersion();
  const version = await checked.catch((error) => {
    checked = null;
    throw error;
  });
  if (isNewEnough(version)) return;
  checked = null;
  throw new DroverError('git_too_old', `git ${version} is too old`, `Install git ${OLDEST.join('.')} or newer.`);
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}
