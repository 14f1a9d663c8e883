import { execa } from 'execa';

/** Runs git in a directory with a given environment and gives its output, trimmed. Fails the test when git fails. */
export async function git(cwd: string, env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  const { stdout } = await execa('git', args, { cwd, env, extendEnv: false, stripFinalNewline: true });
  return stdout;
}
