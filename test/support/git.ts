import { execa } from 'execa';

/** Runs git in a directory with a given environment and gives its output, trimmed. Fails the test when git fails. */
export async function git(cwd: string, env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  // The tests look as root into repositories of users that they made.
  const trust = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' };
  const options = { cwd, env: { ...env, ...trust }, extendEnv: false, stripFinalNewline: true };
  const { stdout } = await execa('git', args, options);
  return stdout;
}
