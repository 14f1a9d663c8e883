import { execa } from 'execa';

/** A repository of the world's user is the test's to look at, too. */
const TRUSTING = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' };

/** Runs git in a directory with a given environment and gives its output, trimmed. Fails the test when git fails. */
export async function git(cwd: string, env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  const { stdout } = await execa('git', args, { cwd, env: { ...env, ...TRUSTING }, extendEnv: false });
  return stdout;
}
