import { homedir } from 'node:os';
import { AGENTS } from '@drover/core/agents';
import { isDroverError, userConfigFile } from '@drover/core/client';
import { type LoadedConfig, loadConfig, readUserConfig, type SourceText } from '@drover/core/config';
import { fileAt, openRepository, resolveBase } from '@drover/core/worktrees';
import type { Context } from './define-command.ts';

const REPOSITORY_CONFIG = '.drover/config.yaml';

/** The configuration that a run in this directory would have, read without the engine. Throws ConfigError with every error in it. */
export async function localConfig({ env, cwd }: Context, flags: Record<string, unknown> = {}): Promise<LoadedConfig> {
  const user = await readUserConfig(userConfigFile({ ...env, HOME: env.HOME ?? homedir() }));
  return loadConfig({ user, repository: await repositoryConfig(cwd), flags, adapters: AGENTS });
}

/** As the base commit has it, like the engine reads it; null outside a repository. */
async function repositoryConfig(cwd: string): Promise<SourceText | null> {
  try {
    const repository = await openRepository(cwd);
    const text = await fileAt(repository, await resolveBase(repository, 'HEAD'), REPOSITORY_CONFIG);
    return text === null ? null : { file: REPOSITORY_CONFIG, text };
  } catch (error) {
    // Also where there is no commit yet: nothing is configured there.
    if (isDroverError(error)) return null;
    throw error;
  }
}
