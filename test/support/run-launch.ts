import { spawn } from 'node:child_process';
import { chownSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Launch } from '../../packages/core/src/agents/types.ts';

/** Agents are never uid 0; where tests are, theirs run as nobody. */
const NOBODY = 65534;

export interface LaunchEnd {
  output: string;
  stderr: string;
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Runs what an adapter has prepared, without any sandbox. `onOutput` sees all output so far, at each piece. */
export function runLaunch(
  launch: Launch,
  cwd: string,
  onOutput: (output: string, kill: (signal: NodeJS.Signals) => void) => void = () => {},
): Promise<LaunchEnd> {
  const as = isRoot() ? { uid: NOBODY, gid: NOBODY } : {};
  const child = spawn(launch.argv[0]!, launch.argv.slice(1), { cwd, env: launch.env, ...as });
  child.stdin.end(launch.stdin ?? '');
  const end = { output: '', stderr: '' };
  child.stderr.on('data', (bytes: Buffer) => {
    end.stderr += bytes.toString('utf8');
  });
  child.stdout.on('data', (bytes: Buffer) => {
    end.output += bytes.toString('utf8');
    onOutput(end.output, (signal) => child.kill(signal));
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ ...end, code, signal }));
  });
}

/** Gives a directory and all in it to whoever {@link runLaunch} runs as. */
export function giveToAgent(path: string): void {
  if (!isRoot()) return;
  for (const entry of readdirSync(path, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chownSync(join(entry.parentPath, entry.name), NOBODY, NOBODY);
  }
  chownSync(path, NOBODY, NOBODY);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
