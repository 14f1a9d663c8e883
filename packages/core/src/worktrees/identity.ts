import { gitLine } from './git.ts';
import { type Repository, repositoryPlace } from './repository.ts';

export interface GitIdentity {
  name: string;
  email: string;
}

/** Stands in where the user has not told git who he is. */
export const DROVER_IDENTITY: Readonly<GitIdentity> = { name: 'Drover', email: 'drover@localhost' };

/** The user's own git identity as git would use it in this repository, else Drover's. */
export async function gitIdentity(repo: Repository): Promise<GitIdentity> {
  const name = await setting(repo, 'user.name');
  const email = await setting(repo, 'user.email');
  return usable(name) && usable(email) ? { name, email } : { ...DROVER_IDENTITY };
}

/** The environment that makes git use an identity, whatever is configured. */
export function identityEnvironment({ name, email }: GitIdentity): Record<string, string> {
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
}

async function setting(repo: Repository, key: string): Promise<string> {
  return (await gitLine(repositoryPlace(repo), ['config', '--get', key], { okCodes: [0, 1] })).trim();
}

/** git drops these characters from names, and refuses a name of which nothing is left. */
function usable(text: string): boolean {
  return /[^\s.,:;<>"\\']/.test(text);
}
