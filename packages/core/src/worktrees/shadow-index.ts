import { copyFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentIdentity } from '../sandbox/types.ts';
import { adminDir } from './admin-dir.ts';
import type { Worktree } from './create-worktree.ts';
import { git } from './git.ts';
import { isSelf } from './ownership.ts';
import type { Repository } from './repository.ts';

export interface ShadowIndexOptions {
  worktree: Worktree;
  identity: AgentIdentity;
  base: string;
  used?: boolean;
  /** Where the copy goes. */
  index: string;
}

/**
 * Gives the shadow a copy of the worktree's index, never a link to it: the agent could write the file itself.
 *
 * git tells changed files by times of whole seconds, and distrusts what has the index's own second: each status would read
 * those files and run filters on them. So the copy is made in a later second than the last file.
 */
export async function writeShadowIndex(repo: Repository, options: ShadowIndexOptions): Promise<void> {
  const { worktree, identity, index, used = false } = options;
  const original = join(adminDir(repo, worktree.id), 'index');
  if (used) return await writeUsedIndex(repo, original, options);
  await secondAfter((await stat(original)).mtimeMs);
  if (!isSelf(identity)) await refresh(repo, worktree);
  await copyFile(original, index);
}

/** Files an agent wrote are not read here: the first status inside compares what differs from what was checked out. */
async function writeUsedIndex(repo: Repository, original: string, options: ShadowIndexOptions): Promise<void> {
  await copyFile(original, options.index);
  const place = { gitDir: adminDir(repo, options.worktree.id), indexFile: options.index };
  await git(place, ['read-tree', '--reset', options.base]);
}

/** In the original: it lies outside the sandbox, and later comparisons on the host are fast with it. */
async function refresh(repo: Repository, worktree: Worktree): Promise<void> {
  const place = { gitDir: adminDir(repo, worktree.id), workTree: worktree.path };
  // 1: some file differs from its commit as soon as it is checked out, for instance by a filter.
  await git(place, ['update-index', '-q', '--refresh'], { cwd: worktree.path, okCodes: [0, 1], timeoutMs: 1_800_000 });
}

/** Waits until the wall clock shows a later second; the kernel's clock for files runs some milliseconds behind. */
async function secondAfter(timeMs: number): Promise<void> {
  const next = (Math.floor(timeMs / 1000) + 1) * 1000 + 20;
  for (let left = next - Date.now(); left > 0; left = next - Date.now()) await delay(Math.min(left, 1100));
}
