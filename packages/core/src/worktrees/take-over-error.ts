import { DroverError } from '../shared/errors.ts';
import { printable } from './printable.ts';

export type TakeOverReason =
  /** What the sandbox gave as HEAD is no commit id. */
  | 'bad_head'
  /** The sandbox or its git failed, or went away. */
  | 'sandbox'
  | 'too_large'
  | 'timeout'
  /** The stream is no pack, or holds objects that git's checks refuse. */
  | 'rejected'
  /** Objects that HEAD needs did not come. */
  | 'not_connected'
  /** The ref has another value than the engine expects. */
  | 'ref_moved';

/** A sandbox's commits were not taken over. The repository is as it was. */
export class TakeOverError extends DroverError {
  readonly reason: TakeOverReason;

  constructor(reason: TakeOverReason, message: string, cause?: unknown) {
    super('takeover_failed', `commits were not taken over: ${printable(message)}`, HINTS[reason], { cause });
    this.reason = reason;
  }
}

const HINTS: Readonly<Record<TakeOverReason, string>> = {
  bad_head: 'The agent left its git directory unusable; its files are still in the worktree.',
  sandbox: 'The worktree is kept; try again.',
  too_large: 'See what large files it committed, or raise the limit of a take-over.',
  timeout: 'The worktree is kept; try again.',
  rejected: 'The agent made objects that git refuses; its files are still in the worktree.',
  not_connected: 'The agent left its object store damaged; its files are still in the worktree.',
  ref_moved: 'Something else wrote below refs/drover/attempts.',
};
