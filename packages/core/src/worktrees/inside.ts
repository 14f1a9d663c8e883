import type { Readable } from 'node:stream';
import type { SandboxProcess } from '../sandbox/types.ts';
import { DroverError } from '../shared/errors.ts';
import { withoutGit } from './git-environment.ts';
import { printable } from './printable.ts';

/** Runs one command in an attempt's sandbox. The engine binds it to {@link Sandbox.exec} with group `side`. */
export type SandboxExec = (
  argv: string[],
  options: { env: Record<string, string>; cwd: string; timeoutMs: number },
) => Promise<SandboxProcess>;

/** How git is run inside a sandbox. Whatever comes back was written by the agent, and is believed in nothing. */
export interface Inside {
  exec: SandboxExec;
  /** The worktree. */
  cwd: string;
  /** The agent's environment; its `GIT_*` are left out. */
  env: Readonly<Record<string, string>>;
}

export interface InsideOptions {
  input?: string;
  env?: Record<string, string>;
  /** Standard output beyond this ends the command. Default 1 MiB. */
  maxBytes?: number;
  /** Default two minutes. */
  timeoutMs?: number;
}

export interface InsideResult {
  /** Null when it was ended by a signal. */
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

/** The agent's own hooks, monitors and keys play no part in the engine's commands. */
const FLAGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.safecrlf=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'commit.gpgSign=false',
  'advice.addEmbeddedRepo=false',
].flatMap((entry) => ['-c', entry]);

/** argv of git inside the sandbox. */
export function insideGit(args: readonly string[]): string[] {
  return ['git', '--no-pager', ...FLAGS, ...args];
}

/** The environment of a command of the engine's inside the sandbox. */
export function insideEnvironment(inside: Inside, extra: Record<string, string> = {}): Record<string, string> {
  return { ...withoutGit(inside.env), LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'false', ...extra };
}

/**
 * Runs a command inside and collects what it prints, bounded in bytes and time. Rejects with `sandbox_command` when it
 * could not be run, printed too much or did not end; an exit code is an answer and no error.
 */
export async function runInside(inside: Inside, argv: string[], options: InsideOptions = {}): Promise<InsideResult> {
  const { maxBytes = 1024 * 1024, timeoutMs = 120_000 } = options;
  const env = insideEnvironment(inside, options.env);
  const process = await startInside(inside, argv, { env, timeoutMs });
  try {
    feed(process, options.input);
    const all = Promise.all([collect(process.stdout, maxBytes), head64k(process.stderr), process.result]);
    const [stdout, stderr, result] = await withDeadline(all, timeoutMs, argv);
    return { code: result.code, stdout, stderr };
  } catch (error) {
    throw error instanceof DroverError ? error : failed(argv, 'the sandbox went away', error);
  } finally {
    disconnect(process);
  }
}

/** As {@link runInside} with git; rejects also when its exit code is not 0. */
export async function gitInside(inside: Inside, args: readonly string[], options?: InsideOptions): Promise<string> {
  const result = await runInside(inside, insideGit(args), options);
  if (result.code !== 0) throw failed(insideGit(args), printable(result.stderr.trim()) || `exit code ${result.code}`);
  return result.stdout.toString('utf8');
}

/** Starts a command; one that starts too late is disconnected. */
export async function startInside(
  inside: Inside,
  argv: string[],
  { env, timeoutMs }: { env: Record<string, string>; timeoutMs: number },
): Promise<SandboxProcess> {
  const starting = inside.exec(argv, { env, cwd: inside.cwd, timeoutMs });
  try {
    const process = await withDeadline(starting, timeoutMs, argv);
    process.result.catch(() => {}); // it may fail before anybody waits for it
    return process;
  } catch (error) {
    starting.then(disconnect, () => {});
    throw error instanceof DroverError ? error : failed(argv, 'it could not be started', error);
  }
}

/** Closing its streams is what ends a command that still runs. */
export function disconnect(process: SandboxProcess): void {
  process.result.catch(() => {});
  for (const stream of [process.stdin, process.stdout, process.stderr]) {
    stream.on('error', () => {});
    stream.destroy();
  }
}

/** Rejects with `sandbox_command` when `work` takes longer. */
export async function withDeadline<T>(work: Promise<T>, timeoutMs: number, argv: readonly string[]): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(failed(argv, 'it did not end in time')), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}

/** Keeps the first 64 KiB of a stream and reads on, so that its writer never blocks. */
export async function head64k(stream: Readable): Promise<string> {
  const kept: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      if (size < 65_536) kept.push(Buffer.from(chunk));
      size += chunk.length;
    }
  } catch {
    // Cut off: what came until then is the answer.
  }
  return Buffer.concat(kept).subarray(0, 65_536).toString('utf8');
}

async function collect(stream: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxBytes) throw new DroverError('sandbox_command', `a command printed more than ${maxBytes} bytes`);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks);
}

function feed(process: SandboxProcess, input = ''): void {
  process.stdin.on('error', () => {}); // it may end without reading
  process.stdin.end(input);
}

function failed(argv: readonly string[], why: string, cause?: unknown): DroverError {
  const name = argv[0] === 'git' ? `git ${argv[insideGit([]).length]}` : argv[0];
  return new DroverError('sandbox_command', `${name} in the sandbox: ${why}`, '', { cause });
}
