import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Env } from './types.ts';

const run = promisify(execFile);

/** Runs a program of the user's for a short answer. Null when it fails or takes too long. */
export async function probe(
  file: string,
  args: readonly string[],
  options: { env: Env; timeoutMs: number },
): Promise<string | null> {
  try {
    const child = run(file, args, {
      env: { ...options.env },
      cwd: '/',
      timeout: options.timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 1024 * 1024,
    });
    // Some wait for the end of their input.
    child.child.stdin?.end();
    return (await child).stdout;
  } catch {
    return null;
  }
}
