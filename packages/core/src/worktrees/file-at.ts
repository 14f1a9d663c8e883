import { git } from './git.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { requireOid } from './revisions.ts';

/** A file of a commit as text; null when the commit has no such file. */
export async function fileAt(repo: Repository, oid: string, path: string): Promise<string | null> {
  const args = ['cat-file', 'blob', `${requireOid(repo, oid)}:${path}`];
  const { code, stdout } = await git(repositoryPlace(repo), args, { okCodes: [0, 128] });
  return code === 0 ? stdout.toString('utf8') : null;
}
