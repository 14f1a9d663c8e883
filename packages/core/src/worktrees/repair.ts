import { join } from 'node:path';
import { type Inside, runInside } from './inside.ts';

/** What git needs to find to work at all. */
export interface RepairPlace {
  commonDir: string;
  /** The sandbox has a shadow at `commonDir`. In `basic` it is the user's own, and then nothing in it is repaired. */
  shadow: boolean;
  /** Name of the worktree's administrative directory. */
  id: string;
  worktree: string;
  /** Where HEAD is put when it names no commit any more. */
  base: string;
}

/**
 * Lock files of a git that was killed with its agent. No git runs any more when the engine settles an attempt.
 * `find` and not a list: any ref may be locked.
 */
const CLEAR_LOCKS = `
find "$1" -path "$1/base-objects" -prune -o -name '*.lock' -type f -exec rm -f {} + 2>/dev/null
true`;
const CLEAR_OWN_LOCKS = `rm -f "$1/worktrees/$2/index.lock" "$1/worktrees/$2/HEAD.lock"`;

/**
 * Puts the skeleton back, as little as git needs. It runs inside: a root engine that wrote into a directory of the
 * agent's would follow whatever link was put there.
 */
const REPAIR = `
common=$1 own=$1/worktrees/$2 worktree=$3 base=$4
mkdir -p "$common/refs/heads" "$common/objects/info" "$common/objects/pack" "$own"
echo ../base-objects >"$common/objects/info/alternates"
git config --file "$common/config" --list >/dev/null 2>&1 || {
  rm -rf "$common/config"
  printf '[core]\\n\\trepositoryformatversion = %s\\n' "$([ \${#base} -eq 64 ] && echo 1 || echo 0)" >"$common/config"
  [ \${#base} -ne 64 ] || printf '[extensions]\\n\\tobjectformat = sha256\\n' >>"$common/config"
}
rm -rf "$common/HEAD" "$own/commondir" "$own/gitdir"
echo "$base" >"$common/HEAD"
echo ../.. >"$own/commondir"
printf '%s/.git\\n' "$worktree" >"$own/gitdir"
git rev-parse --verify --quiet HEAD^{commit} >/dev/null 2>&1 || {
  rm -rf "$own/HEAD"
  echo "$base" >"$own/HEAD"
}`;

const script = (text: string, place: RepairPlace): string[] => [
  'sh',
  '-c',
  text,
  'sh',
  place.commonDir,
  place.id,
  place.worktree,
  place.base,
];

export async function clearLocks(inside: Inside, place: RepairPlace): Promise<void> {
  await runInside(inside, script(place.shadow ? CLEAR_LOCKS : CLEAR_OWN_LOCKS, place));
}

/** Makes git work again in a shadow directory that its agent damaged. What refs are left stay. */
export async function repair(inside: Inside, place: RepairPlace): Promise<void> {
  if (place.shadow) await runInside(inside, script(REPAIR, place));
}

/** An index that cannot be read is made anew from HEAD; what lies in the worktree then counts as changed or not. */
export async function rebuildIndex(inside: Inside, place: RepairPlace): Promise<void> {
  const index = join(place.commonDir, 'worktrees', place.id, 'index');
  await runInside(inside, ['sh', '-c', 'rm -rf "$1" && git -c core.hooksPath=/dev/null read-tree HEAD', 'sh', index]);
}
