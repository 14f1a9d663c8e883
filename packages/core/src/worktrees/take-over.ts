import { git, gitLine } from './git.ts';
import { GitError } from './git-error.ts';
import { gitInside, type Inside } from './inside.ts';
import { type Inspection, inspect } from './inspect.ts';
import { withRepositoryLock } from './locks.ts';
import { isOid, zeroOid } from './oid.ts';
import { printable } from './printable.ts';
import { openQuarantine, type Quarantine } from './quarantine.ts';
import { receivePack } from './receive-pack.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { readRef, requireOid } from './revisions.ts';
import { TakeOverError } from './take-over-error.ts';

export interface TakeOverOptions {
  /** Commit the attempt began from. */
  base: string;
  /** `refs/drover/attempts/...`: see `attemptRef`. */
  ref: string;
  /** The ref's value by the engine's books; absent: it must not exist. */
  oldOid?: string | null;
  /** The most bytes of pack that are accepted. */
  maxBytes: number;
  /** For all of it. Default ten minutes. */
  timeoutMs?: number;
  /** For the ref's log. */
  message?: string;
}

export interface TakeOver extends Inspection {
  head: string;
  /** False: HEAD is where the attempt began, and nothing was written. */
  changed: boolean;
}

/**
 * Brings the commits of a sandbox's HEAD into the user's repository, and sets `ref` to it.
 *
 * Of the sandbox nothing is read but an id and a stream. The stream goes through `index-pack --strict` into a quarantine,
 * which hashes every object anew; then HEAD's history must be complete; only then are the packs moved and the ref is set.
 * Rejects with {@link TakeOverError}; the repository is then as it was. Can be repeated, also while the agent runs.
 */
export async function takeOver(repo: Repository, inside: Inside, options: TakeOverOptions): Promise<TakeOver> {
  const { base, ref, oldOid = null } = options;
  requireOid(repo, base);
  if (!ref.startsWith('refs/drover/attempts/')) throw new RangeError(`${ref} is no ref of an attempt`);
  const deadline = Date.now() + (options.timeoutMs ?? 600_000);
  const head = await headInside(repo, inside, remaining(deadline));
  if (head === base && oldOid === null) return { head, changed: false, ...(await inspect(repo, base, head)) };
  if (head !== base) await bringObjects(repo, inside, { head, base, deadline, maxBytes: options.maxBytes });
  await setAttemptRef(repo, { ref, head, oldOid, message: options.message ?? 'drover: take-over' });
  return { head, changed: head !== base, ...(await inspect(repo, base, head)) };
}

async function headInside(repo: Repository, inside: Inside, timeoutMs: number): Promise<string> {
  const args = ['rev-parse', '--verify', 'HEAD^{commit}'];
  const text = await gitInside(inside, args, { maxBytes: 4096, timeoutMs }).catch((error) => {
    throw new TakeOverError('bad_head', error.message, error);
  });
  const head = text.replace(/\n$/, '');
  if (isOid(head, repo.objectFormat) && head !== zeroOid(repo.objectFormat)) return head;
  throw new TakeOverError('bad_head', `the sandbox gave ${JSON.stringify(printable(text.slice(0, 80)))} as HEAD`);
}

interface Wanted {
  head: string;
  base: string;
  deadline: number;
  maxBytes: number;
}

async function bringObjects(repo: Repository, inside: Inside, wanted: Wanted): Promise<void> {
  const quarantine = await openQuarantine(repo);
  try {
    await receivePack(repo, inside, quarantine, {
      revisions: await revisions(repo, wanted),
      maxBytes: wanted.maxBytes,
      timeoutMs: remaining(wanted.deadline),
    });
    await requireConnected(repo, quarantine, wanted);
    await quarantine.migrate();
  } finally {
    await quarantine.remove();
  }
}

/** What is wanted, and what the repository has already. All of it lies in the sandbox's alternate as well. */
async function revisions(repo: Repository, { head, base }: Wanted): Promise<string> {
  const places = ['refs/heads', 'refs/remotes', 'refs/tags'];
  const args = ['for-each-ref', '--format=%(objectname)', '--count=20000', ...places];
  const known = (await gitLine(repositoryPlace(repo), args)).split('\n').filter(Boolean);
  return `${[head, ...new Set([base, ...known])].map((oid, n) => (n === 0 ? oid : `^${oid}`)).join('\n')}\n`;
}

/** Every object that HEAD reaches must be here or have come. A repository's replace refs must not paint over a gap. */
async function requireConnected(repo: Repository, quarantine: Quarantine, { head, deadline }: Wanted): Promise<void> {
  const missing = repo.partial ? ['--missing=allow-promisor'] : [];
  const options = { env: { GIT_NO_REPLACE_OBJECTS: '1' }, timeoutMs: remaining(deadline) };
  try {
    const type = await gitLine(quarantine.place, ['cat-file', '-t', head], options);
    if (type !== 'commit') throw new TakeOverError('not_connected', `HEAD is a ${printable(type)}`);
    await git(quarantine.place, ['rev-list', '--objects', '--quiet', ...missing, head, '--not', '--all'], options);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw new TakeOverError(error.timedOut ? 'timeout' : 'not_connected', error.message, error);
  }
}

async function setAttemptRef(
  repo: Repository,
  { ref, head, oldOid, message }: { ref: string; head: string; oldOid: string | null; message: string },
): Promise<void> {
  await withRepositoryLock(repo, async () => {
    const current = await readRef(repo, ref);
    if (current === head) return; // repeated after a crash
    if (current !== oldOid) throw new TakeOverError('ref_moved', `${ref} is at ${current ?? 'nothing'}`);
    const args = ['update-ref', '-m', message, ref, head, oldOid ?? zeroOid(repo.objectFormat)];
    await git(repositoryPlace(repo), args).catch((error) => {
      throw new TakeOverError('ref_moved', error.message, error);
    });
  });
}

function remaining(deadline: number): number {
  return Math.max(1, deadline - Date.now());
}
