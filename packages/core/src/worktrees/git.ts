import { type ExecaError, execa } from 'execa';
import { DroverError } from '../shared/errors.ts';
import { retry } from '../shared/retry.ts';

/**
 * Settings of every git call on the host, so that nothing an agent wrote can make it run a program: no fsmonitor, no hooks, no
 * submodules entered, no transport, no signing, no bare repository found by chance. See docs/security-model.md.
 */
const SETTINGS = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'submodule.recurse=false',
  'diff.ignoreSubmodules=all',
  'protocol.allow=never',
  'commit.gpgSign=false',
  'safe.bareRepository=explicit',
  // The engine names every directory itself; whose it is was settled when the repository was opened.
  'safe.directory=*',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
];

const TIMEOUT_MS = 10 * 60_000;
const OUTPUT_MAX = 64 * 1024 * 1024;

export interface GitPlace {
  gitDir?: string;
  workTree?: string;
  index?: string;
  /** More variables, e.g. a quarantine of objects. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  input?: string;
}

/** A git command on the host that failed: `code` is `git_failed`; what git said is in the message. */
export class GitError extends DroverError {
  override readonly name = 'GitError';
  readonly exitCode: number | undefined;
  readonly stderr: string;

  constructor(args: readonly string[], exitCode: number | undefined, stderr: string, options?: ErrorOptions) {
    super(
      'git_failed',
      `git ${args[0]}: ${stderr.trim().split('\n').slice(0, 3).join('; ') || `exit ${exitCode}`}`,
      '',
      options,
    );
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

/** The arguments and environment of a host-side git call. Nothing of the caller's GIT_* variables comes along. */
export function gitCommand(args: readonly string[], place: GitPlace): { argv: string[]; env: Record<string, string> } {
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: process.env.HOME ?? '/',
    LC_ALL: 'C',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'false',
    ...(process.env.XDG_CONFIG_HOME ? { XDG_CONFIG_HOME: process.env.XDG_CONFIG_HOME } : {}),
    ...(place.gitDir === undefined ? {} : { GIT_DIR: place.gitDir }),
    ...(place.workTree === undefined ? {} : { GIT_WORK_TREE: place.workTree }),
    ...(place.index === undefined ? {} : { GIT_INDEX_FILE: place.index }),
    ...place.env,
  };
  return { argv: [...SETTINGS.flatMap((setting) => ['-c', setting]), ...args], env };
}

/**
 * Runs git on the host and gives its stdout, without a final newline. A lock that somebody else holds is waited for, a few times.
 * Throws {@link GitError}.
 */
export async function git(args: readonly string[], place: GitPlace): Promise<string> {
  return retry({ tries: 6, firstWaitMs: 40, when: isLocked }, () => gitOnce(args, place));
}

async function gitOnce(args: readonly string[], place: GitPlace): Promise<string> {
  const { argv, env } = gitCommand(args, place);
  try {
    const result = await execa('git', argv, {
      env,
      extendEnv: false,
      cwd: place.cwd ?? place.workTree ?? place.gitDir ?? '/',
      timeout: TIMEOUT_MS,
      maxBuffer: OUTPUT_MAX,
      ...(place.input === undefined ? { stdin: 'ignore' as const } : { input: place.input }),
    });
    return result.stdout;
  } catch (error) {
    const failed = error as ExecaError;
    throw new GitError(args, failed.exitCode, String(failed.stderr || failed.shortMessage), { cause: error });
  }
}

/** The variable that lends git the objects of a directory. Quoted as in C, since a colon in a path would end it. */
export function lendObjects(objects: string): Record<string, string> {
  return { GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${objects.replace(/[\\"]/g, '\\$&')}"` };
}

function isLocked(error: unknown): boolean {
  return error instanceof GitError && /\.lock': File exists|cannot lock ref .*: Unable to create/.test(error.stderr);
}
