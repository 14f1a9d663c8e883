import { git } from './git.ts';
import type { ConfigEntry } from './git-environment.ts';
import { type Repository, repositoryPlace } from './repository.ts';

/**
 * A `.gitattributes` that an agent wrote can name any filter or merge driver that the user has configured, and git would run
 * it on the agent's bytes, on the host (`git-lfs` among them). So for commands on an agent's content every configured one
 * is set to nothing. Configuration has no wildcard: each is named.
 */
export async function withoutFilters(repo: Repository): Promise<ConfigEntry[]> {
  const names = await configuredNames(repo, '^filter\\.');
  return names.flatMap((name) => [
    [`filter.${name}.clean`, ''],
    [`filter.${name}.smudge`, ''],
    [`filter.${name}.process`, ''],
    [`filter.${name}.required`, 'false'],
  ]);
}

/** A driver that fails leaves a conflict, which is told; nothing of the user's is run. */
export async function withoutMergeDrivers(repo: Repository): Promise<ConfigEntry[]> {
  const names = await configuredNames(repo, '^merge\\..*\\.driver$');
  const drivers = names.map((name): ConfigEntry => [`merge.${name}.driver`, 'false']);
  return [['core.attributesFile', '/dev/null'], ...drivers];
}

async function configuredNames(repo: Repository, pattern: string): Promise<string[]> {
  const args = ['config', '-z', '--name-only', '--get-regexp', pattern];
  const { stdout } = await git(repositoryPlace(repo), args, { okCodes: [0, 1] });
  const names = stdout
    .toString('utf8')
    .split('\0')
    .filter(Boolean)
    .map((key) => key.slice(key.indexOf('.') + 1, key.lastIndexOf('.')));
  return [...new Set(names)];
}
