import { gitCapped } from './git.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { requireOid } from './revisions.ts';

const FLAGS = ['--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=none'];

/** The difference of two commits as text, or as a table with `stat`; cut off at `maxBytes`. */
export async function diff(
  repo: Repository,
  base: string,
  head: string,
  { stat = false, maxBytes = 1024 * 1024 }: { stat?: boolean; maxBytes?: number } = {},
): Promise<{ text: string; truncated: boolean }> {
  const range = [requireOid(repo, base), requireOid(repo, head)];
  const args = ['diff', ...FLAGS, ...(stat ? ['--stat=120'] : []), ...range, '--'];
  const { stdout, truncated } = await gitCapped(repositoryPlace(repo), args, { maxBytes, memoryBytes: 2 * 1024 ** 3 });
  return { text: stdout.toString('utf8'), truncated };
}
