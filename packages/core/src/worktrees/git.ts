import { execa } from 'execa';
import { DroverError } from '../shared/errors.ts';
import { retry } from '../shared/retry.ts';
import { configEnvironment, type FlagOptions, type GitPlace, gitEnvironment, gitFlags } from './git-environment.ts';
import { GitError } from './git-error.ts';

const MIB = 1024 * 1024;

export interface GitOptions extends FlagOptions {
  input?: string | Uint8Array;
  /** Where it runs; absent: the git directory. */
  cwd?: string;
  /** Extra environment: identities, dates. */
  env?: Record<string, string>;
  /** Output beyond this is an error. Default 64 MiB. */
  maxBytes?: number;
  /** Default two minutes. */
  timeoutMs?: number;
  /** Exit codes that are answers. Default 0 alone. */
  okCodes?: readonly number[];
  /** Bound of its heap, for commands that read what an agent sent. */
  memoryBytes?: number;
  /** Killed by the kernel with the engine, so that after a crash it does not go on writing where a new engine works. */
  diesWithEngine?: boolean;
}

export interface GitResult {
  code: number;
  stdout: Buffer;
  stderr: string;
}

/**
 * Runs one git command on the host: the only way that the engine does. By argv, with a hardened environment and flags,
 * output and time bounded; a lock file of another git process is waited for, with jitter, for some seconds.
 *
 * Rejects with {@link GitError} (`git_failed`).
 */
export async function git(
  place: GitPlace | null,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitResult> {
  return await retry(() => runOnce(place, args, options), {
    attempts: 9,
    baseMs: 40,
    maxMs: 1000,
    retryIf: (error) => error instanceof GitError && error.lockHeld,
  });
}

/** As {@link git}, for commands that print one line of text. */
export async function gitLine(place: GitPlace | null, args: readonly string[], options?: GitOptions): Promise<string> {
  return (await git(place, args, options)).stdout.toString('utf8').replace(/\n$/, '');
}

/** As {@link git}, for commands that print NUL-terminated items. */
export async function gitItems(
  place: GitPlace | null,
  args: readonly string[],
  options?: GitOptions,
): Promise<string[]> {
  return splitNul((await git(place, args, options)).stdout);
}

export function splitNul(bytes: Buffer): string[] {
  const items = bytes.toString('utf8').split('\0');
  if (items.at(-1) === '') items.pop();
  return items;
}

/** As {@link git}, but of what it prints the first `maxBytes` are kept, and the rest is said to be cut off. */
export async function gitCapped(
  place: GitPlace | null,
  args: readonly string[],
  options: GitOptions & { maxBytes: number },
): Promise<{ stdout: Buffer; truncated: boolean }> {
  const result = await spawnGit(place, args, { input: '', ...options });
  if (result.isMaxBuffer) return { stdout: bytes(result.stdout), truncated: true };
  const { stdout } = check(args, options, result);
  return { stdout, truncated: false };
}

/** A git command whose stdin the caller streams into. Its result is checked with {@link checkedResult}. */
export function spawnGit(place: GitPlace | null, args: readonly string[], options: GitOptions = {}) {
  const [file, ...argv] = [...wrapper(options), 'git', ...gitFlags(options), ...args];
  return execa(file!, argv, {
    cwd: options.cwd ?? place?.gitDir ?? '/',
    env: { ...gitEnvironment(place), ...configEnvironment(options.config), ...options.env },
    extendEnv: false,
    encoding: 'buffer',
    reject: false,
    stripFinalNewline: false,
    maxBuffer: options.maxBytes ?? 64 * MIB,
    timeout: options.timeoutMs ?? 120_000,
    ...(options.input !== undefined ? { input: options.input } : {}),
  });
}

export type GitProcess = ReturnType<typeof spawnGit>;

/** Waits for a process of {@link spawnGit}; rejects as {@link git} does. */
export async function checkedResult(
  process: GitProcess,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitResult> {
  return check(args, options, await process);
}

async function runOnce(place: GitPlace | null, args: readonly string[], options: GitOptions): Promise<GitResult> {
  return await checkedResult(spawnGit(place, args, { input: '', ...options }), args, options);
}

function check(args: readonly string[], options: GitOptions, result: Awaited<GitProcess>): GitResult {
  if (result.code === 'ENOENT') throw notStarted(result.cause);
  const stderr = bytes(result.stderr).toString('utf8');
  const code = result.exitCode;
  const accepted = code !== undefined && (options.okCodes ?? [0]).includes(code);
  if (!accepted || result.isMaxBuffer || result.timedOut) {
    throw new GitError({
      argv: args,
      exitCode: code ?? null,
      stderr,
      timedOut: result.timedOut,
      tooMuchOutput: result.isMaxBuffer,
    });
  }
  return { code, stdout: bytes(result.stdout), stderr };
}

function notStarted(cause: unknown): DroverError {
  return new DroverError(
    'git_missing',
    'git could not be started, or its directory is gone',
    'Install git 2.38 or newer and see that it is on PATH.',
    { cause },
  );
}

/** Tools of util-linux around a command. RLIMIT_DATA counts private memory, not the mapped packs of a large repository. */
function wrapper({ memoryBytes, diesWithEngine }: GitOptions): string[] {
  if (process.platform !== 'linux') return [];
  return [
    ...(memoryBytes ? ['prlimit', `--data=${memoryBytes}`, '--core=0', '--'] : []),
    ...(diesWithEngine ? ['setpriv', '--pdeathsig', 'KILL', '--'] : []),
  ];
}

function bytes(output: unknown): Buffer {
  if (!(output instanceof Uint8Array)) return Buffer.alloc(0);
  return Buffer.from(output.buffer, output.byteOffset, output.byteLength);
}
