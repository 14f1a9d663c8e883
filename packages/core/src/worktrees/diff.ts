import { type Repository, repositoryGit } from './repository.ts';

const TEXT_MAX = 4 * 1024 * 1024;

/** The difference between two commits as text, cut at 4 MiB. No program of the user's takes part. */
export async function diff(
  repository: Repository,
  base: string,
  head: string,
  options: { stat: boolean },
): Promise<{ text: string; truncated: boolean }> {
  const form = options.stat ? ['--stat=120', '--summary'] : ['--patch'];
  const text = await repositoryGit(repository, [
    'diff',
    '--no-color',
    '--no-ext-diff',
    '--no-textconv',
    ...form,
    base,
    head,
  ]);
  if (text.length > TEXT_MAX) return { text: text.slice(0, TEXT_MAX), truncated: true };
  // The last line end is gone by now; `git apply` takes no patch without it.
  return { text: text === '' ? '' : `${text}\n`, truncated: false };
}
