import { DroverError } from '../shared/errors.ts';
import { type GitIdentity, identityEnvironment } from './identity.ts';
import { gitInside, type Inside, insideGit, runInside } from './inside.ts';
import { printable } from './printable.ts';
import { clearLocks, type RepairPlace, rebuildIndex, repair } from './repair.ts';

/** Many untracked files make long listings; beyond this they are dirty all the same. */
const STATUS_BYTES = 64 * 1024 * 1024;
const SLOW_MS = 600_000;

export const OPERATIONS = ['merge', 'rebase', 'cherry-pick', 'revert', 'bisect'] as const;
export type Operation = (typeof OPERATIONS)[number];

export interface Leftovers {
  /** Commit of HEAD as the sandbox says. */
  head: string;
  dirty: boolean;
  /** Something the agent had begun and not ended. In a rebase or a bisect, HEAD may lack commits of its branch. */
  operation: Operation | null;
  /** Git had to be made to work again first. */
  repaired: boolean;
}

export interface CommittedLeftovers extends Leftovers {
  committed: boolean;
  /** Paths that could not be added (nested repositories without a commit, unreadable files). At most 100. */
  skipped: string[];
}

/** Looks, inside the sandbox, for changes that are not committed. Untracked files count, ignored ones do not. */
export async function leftovers(inside: Inside, place: RepairPlace): Promise<Leftovers> {
  await clearLocks(inside, place);
  const repaired = await makeUsable(inside, place);
  const head = (await gitInside(inside, ['rev-parse', '--verify', 'HEAD^{commit}'])).trim();
  const operation = await operationUnderway(inside);
  return { head, dirty: (await status(inside)).length > 0, operation, repaired };
}

/**
 * Commits, inside the sandbox, everything that git does not ignore, on whatever HEAD is: a branch, detached, in the middle of
 * a merge or rebase. No hook runs. Made with write-tree and commit-tree, which no operation underway can refuse.
 *
 * Rejects with `sandbox_command` when git cannot be made to work.
 */
export async function commitLeftovers(
  inside: Inside,
  place: RepairPlace,
  options: { message: string; identity: GitIdentity },
): Promise<CommittedLeftovers> {
  const found = await leftovers(inside, place);
  if (!found.dirty) return { ...found, committed: false, skipped: [] };
  const parents = [found.head, ...(await mergeHead(inside))];
  await addAll(inside);
  const tree = (await gitInside(inside, ['write-tree'], { timeoutMs: SLOW_MS })).trim();
  const skipped = (await status(inside)).filter((line) => !/^[MADRCT] /.test(line)).map((line) => line.slice(3));
  const same = (await gitInside(inside, ['rev-parse', `${found.head}^{tree}`])).trim() === tree;
  const outcome = { ...found, skipped: skipped.slice(0, 100).map(printable) };
  if (same && parents.length === 1) return { ...outcome, committed: false };
  const head = await commit(inside, tree, parents, options);
  await gitInside(inside, ['update-ref', '-m', 'drover: leftovers', 'HEAD', head, found.head]);
  return { ...outcome, head, committed: true };
}

/** True when git had to be repaired. */
async function makeUsable(inside: Inside, place: RepairPlace): Promise<boolean> {
  const usable = await works(inside, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (!usable) await repair(inside, place);
  const readable = await works(inside, ['ls-files', '--stage', '--', ':(top,literal).drover-no-such-file']);
  if (!readable) await rebuildIndex(inside, place);
  return !usable || !readable;
}

async function works(inside: Inside, args: readonly string[]): Promise<boolean> {
  return (await runInside(inside, insideGit(args))).code === 0;
}

async function status(inside: Inside): Promise<string[]> {
  const args = ['status', '--porcelain', '-z', '--untracked-files=all', '--ignore-submodules=dirty', '--no-renames'];
  const text = await gitInside(inside, args, { maxBytes: STATUS_BYTES, timeoutMs: SLOW_MS });
  return text.split('\0').filter(Boolean);
}

/** One file that cannot be added must not keep the others from being saved. */
async function addAll(inside: Inside): Promise<void> {
  const result = await runInside(inside, insideGit(['add', '--all', '--ignore-errors', ':/']), { timeoutMs: SLOW_MS });
  if (result.code === 0 || result.code === 1) return;
  throw new DroverError('sandbox_command', `git add in the sandbox: ${printable(result.stderr.trim())}`);
}

/** A merge whose conflicts are resolved and only not committed stays a merge: else its other side would come again. */
async function mergeHead(inside: Inside): Promise<string[]> {
  const result = await runInside(inside, insideGit(['rev-parse', '--verify', '--quiet', 'MERGE_HEAD^{commit}']));
  if (result.code !== 0) return [];
  const unmerged = await gitInside(inside, ['ls-files', '--unmerged'], { maxBytes: STATUS_BYTES });
  return unmerged === '' ? [result.stdout.toString('utf8').trim()] : [];
}

async function commit(
  inside: Inside,
  tree: string,
  parents: readonly string[],
  { message, identity }: { message: string; identity: GitIdentity },
): Promise<string> {
  const args = ['commit-tree', tree, ...parents.flatMap((oid) => ['-p', oid]), '-F', '-'];
  return (await gitInside(inside, args, { input: message, env: identityEnvironment(identity) })).trim();
}

const MARKERS: Readonly<Record<Operation, string[]>> = {
  merge: ['MERGE_HEAD'],
  rebase: ['rebase-merge', 'rebase-apply'],
  'cherry-pick': ['CHERRY_PICK_HEAD'],
  revert: ['REVERT_HEAD'],
  bisect: ['BISECT_LOG'],
};

async function operationUnderway(inside: Inside): Promise<Operation | null> {
  const dir = (await gitInside(inside, ['rev-parse', '--absolute-git-dir'])).trim();
  const script = 'cd "$1" && shift && for name; do [ ! -e "$name" ] || echo "$name"; done';
  const names = OPERATIONS.flatMap((operation) => MARKERS[operation]);
  const { stdout } = await runInside(inside, ['sh', '-c', script, 'sh', dir, ...names]);
  const present = new Set(stdout.toString('utf8').split('\n'));
  // A rebase leaves markers of the steps it is made of: it is named first.
  const found = OPERATIONS.filter((operation) => MARKERS[operation].some((name) => present.has(name)));
  return found.includes('rebase') ? 'rebase' : (found[0] ?? null);
}
