import { DroverError } from '../shared/errors.ts';
import { printable } from './printable.ts';

/** What became of a git command that did not end as wanted. */
export interface GitFailure {
  argv: readonly string[];
  /** Null when it was ended by a signal. */
  exitCode: number | null;
  stderr: string;
  timedOut?: boolean;
  tooMuchOutput?: boolean;
}

/** A git command of the engine failed. `argv` holds the subcommand and its arguments, without the fixed flags. */
export class GitError extends DroverError {
  readonly argv: readonly string[];
  readonly exitCode: number | null;
  readonly stderr: string;
  readonly timedOut: boolean;
  readonly tooMuchOutput: boolean;

  constructor(failure: GitFailure) {
    super('git_failed', describe(failure), hintFor(failure.stderr));
    this.argv = failure.argv;
    this.exitCode = failure.exitCode;
    this.stderr = failure.stderr;
    this.timedOut = failure.timedOut ?? false;
    this.tooMuchOutput = failure.tooMuchOutput ?? false;
  }

  /** Another git process held a lock file. Not so for a ref that has another value than expected. */
  get lockHeld(): boolean {
    return LOCK_HELD.test(this.stderr);
  }
}

const LOCK_HELD = /Unable to create '([^']*\.lock)': File exists|could not lock config file/;

function describe(failure: GitFailure): string {
  const what = `git ${failure.argv[0] ?? ''}`;
  if (failure.timedOut) return `${what} did not end in time`;
  if (failure.tooMuchOutput) return `${what} printed more than is accepted`;
  const detail = printable(failure.stderr.trim()) || `exit code ${failure.exitCode ?? 'none, a signal'}`;
  return `${what}: ${detail}`;
}

function hintFor(stderr: string): string {
  const lock = LOCK_HELD.exec(stderr)?.[1];
  return lock ? `Another git process holds ${printable(lock)}. If none is running, delete that file.` : '';
}
