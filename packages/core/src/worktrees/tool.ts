import { execa } from 'execa';
import { DroverError } from '../shared/errors.ts';
import { withoutGit } from './git-environment.ts';
import { printable } from './printable.ts';

/** Runs a small tool of the system (rm, find) by argv. True when it ended with 0. */
export async function runTool(argv: readonly [string, ...string[]], timeoutMs = 600_000): Promise<ToolResult> {
  const [file, ...args] = argv;
  const result = await execa(file, args, {
    cwd: '/',
    env: { ...withoutGit(process.env), LC_ALL: 'C' },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    timeout: timeoutMs,
    maxBuffer: 64 * 1024,
  });
  return { ok: !result.failed, detail: printable(result.stderr || result.shortMessage || '') };
}

export interface ToolResult {
  ok: boolean;
  detail: string;
}

/** As {@link runTool}; rejects with `code` when it fails. */
export async function requireTool(argv: readonly [string, ...string[]], code: string, what: string): Promise<void> {
  const result = await runTool(argv);
  if (!result.ok) throw new DroverError(code, `${what}: ${result.detail}`);
}
