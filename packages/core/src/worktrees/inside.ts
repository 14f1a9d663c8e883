import type { SandboxProcess } from '../sandbox/types.ts';
import { DroverError } from '../shared/errors.ts';

/** Runs argv in the sandbox, in the worktree, with more environment. */
export type InsideExec = (argv: string[], env?: Record<string, string>) => Promise<SandboxProcess>;

/** What a sandboxed git may answer: an oid, a status. A hostile one may send without end. */
const ANSWER_MAX = 16 * 1024 * 1024;
const STDERR_MAX = 64 * 1024;

/** Of the engine's own git commands inside: no hook, no editor, no signing of the agent's making. */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'commit.gpgSign=false',
  'gc.auto=0',
  'maintenance.auto=false',
];

export interface InsideResult {
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

/** The argv of a git command inside. */
export function insideGit(args: readonly string[]): string[] {
  return ['git', ...SETTINGS.flatMap((setting) => ['-c', setting]), ...args];
}

/** A git command inside the sandbox with its whole, bounded answer. Throws `takeover_failed` when it sends more than that. */
export async function runInside(exec: InsideExec, args: readonly string[], input = ''): Promise<InsideResult> {
  const child = await exec(insideGit(args), { GIT_EDITOR: 'true', GIT_TERMINAL_PROMPT: '0' });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [stdout, stderr, result] = await Promise.all([
    bounded(child.stdout, ANSWER_MAX, () => child.stdin.destroy()),
    bounded(child.stderr, STDERR_MAX, null),
    child.result,
  ]);
  return { code: result.code, stdout, stderr: stderr.toString('utf8') };
}

/** Reads at most `max` bytes. With `tooMuch` more is an error, without it the rest is dropped. */
async function bounded(stream: AsyncIterable<Buffer>, max: number, tooMuch: (() => void) | null): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size <= max) chunks.push(chunk);
    else if (tooMuch) {
      tooMuch();
      throw new DroverError('takeover_failed', `git in the sandbox answered with more than ${max} bytes`, '');
    }
  }
  return Buffer.concat(chunks);
}
