import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { AgentIdentity, Mount } from '../sandbox/types.ts';
import { DroverError } from '../shared/errors.ts';
import { adminDir } from './admin-dir.ts';
import { copyRegular, copyTree } from './copy-tree.ts';
import type { Worktree } from './create-worktree.ts';
import { exists } from './files.ts';
import { git } from './git.ts';
import { giveTree } from './ownership.ts';
import { removeTree } from './remove-tree.ts';
import { type Repository, repositoryPlace } from './repository.ts';
import { requireOid } from './revisions.ts';
import { type ConfigLine, filterConfig, formatConfig, parseConfig } from './shadow-config.ts';
import { writeShadowIndex } from './shadow-index.ts';
import { shadowMounts } from './shadow-mounts.ts';
import { writeShadowRefs } from './shadow-refs.ts';

export interface ShadowOptions {
  worktree: Worktree;
  /** Made here; its parent must exist. One per attempt. */
  shadowDir: string;
  /** The branch the agent works on, without `refs/heads/`; exists in the shadow alone. */
  branch: string;
  /** Where that branch begins. */
  base: string;
  identity: AgentIdentity;
  /** Further directories to be hidden from the agent: the state directory. */
  hide?: readonly string[];
  /** An agent has worked in this worktree before: then no git of the host reads its files. Default false. */
  used?: boolean;
}

/**
 * Makes the private git directory of one attempt, and gives it and the worktree to the agent's uid. Inside the sandbox it
 * lies at the path of the user's own, which is not there; whatever the agent does to it, the user's is not touched.
 *
 * Returns the mounts. Can be repeated: a finished shadow directory, in which an agent may have committed, is left as it is.
 */
export async function prepareShadow(repo: Repository, options: ShadowOptions): Promise<Mount[]> {
  await requireBranchName(repo, options.branch);
  requireOid(repo, options.base);
  if (!isAbsolute(options.shadowDir)) throw new RangeError(`${options.shadowDir} is not absolute`);
  if (!(await exists(options.shadowDir))) await build(repo, options);
  const { worktree, shadowDir, identity, hide = [] } = options;
  return await shadowMounts(repo, { worktree, shadowDir, identity, hide });
}

/** Deletes an attempt's shadow directory. Safe to repeat. */
export async function removeShadow(shadowDir: string): Promise<void> {
  await removeTree(unfinished(shadowDir));
  await removeTree(shadowDir);
}

/** Built beside its place and moved there last: what lies at its place is complete. */
async function build(repo: Repository, options: ShadowOptions): Promise<void> {
  const { worktree, identity } = options;
  const dir = unfinished(options.shadowDir);
  await removeTree(dir);
  await mkdir(dir, { mode: 0o700 });
  await writeSkeleton(repo, dir, options);
  await writeConfig(repo, dir, worktree);
  await copyUserFiles(repo, dir, worktree);
  // Before the index: a change of owner changes the times that the index remembers.
  await giveTree(worktree.path, identity);
  await writeShadowIndex(repo, { ...options, index: join(dir, 'worktrees', worktree.id, 'index') });
  await giveTree(dir, identity);
  await rename(dir, options.shadowDir);
}

async function writeSkeleton(repo: Repository, dir: string, { worktree, branch, base }: ShadowOptions): Promise<void> {
  const own = join(dir, 'worktrees', worktree.id);
  for (const part of ['objects/info', 'objects/pack', 'base-objects', 'refs/heads', 'refs/tags', 'info', 'hooks']) {
    await mkdir(join(dir, part), { recursive: true });
  }
  await mkdir(own, { recursive: true });
  await writeFile(join(dir, 'HEAD'), `${base}\n`);
  await writeFile(join(dir, 'objects/info/alternates'), '../base-objects\n');
  await writeFile(join(own, 'HEAD'), `ref: refs/heads/${branch}\n`);
  await writeFile(join(own, 'commondir'), '../..\n');
  await writeFile(join(own, 'gitdir'), `${join(worktree.path, '.git')}\n`);
  await writeShadowRefs(repo, dir, { ref: `refs/heads/${branch}`, base });
}

async function writeConfig(repo: Repository, dir: string, worktree: Worktree): Promise<void> {
  const lines = await readConfig(repo, join(repo.commonDir, 'config'));
  const filtered = filterConfig(lines).filter(
    ({ key, value }) => !(key === 'core.hookspath' && isAbsolute(value ?? '')),
  );
  await writeFile(join(dir, 'config'), formatConfig(filtered), 'latin1');
  await copyHooks(repo, dir, lines);
  const perWorktree = join(adminDir(repo, worktree.id), 'config.worktree');
  if (!(await exists(perWorktree))) return;
  const own = formatConfig(filterConfig(await readConfig(repo, perWorktree)));
  await writeFile(join(dir, 'worktrees', worktree.id, 'config.worktree'), own, 'latin1');
}

async function readConfig(repo: Repository, file: string): Promise<ConfigLine[]> {
  const { stdout } = await git(repositoryPlace(repo), ['config', '--file', file, '--no-includes', '--list', '-z']);
  return parseConfig(stdout);
}

/** Hooks run inside the sandbox, for the agent's own commits. A directory elsewhere is copied to the usual place. */
async function copyHooks(repo: Repository, dir: string, lines: readonly ConfigLine[]): Promise<void> {
  const configured = lines.findLast(({ key }) => key === 'core.hookspath')?.value;
  const elsewhere = configured && isAbsolute(configured) ? Buffer.from(configured, 'latin1').toString('utf8') : null;
  await copyTree(elsewhere ?? join(repo.commonDir, 'hooks'), join(dir, 'hooks'), (name) => !name.endsWith('.sample'));
}

async function copyUserFiles(repo: Repository, dir: string, worktree: Worktree): Promise<void> {
  for (const file of ['shallow', 'info/exclude', 'info/attributes']) {
    await copyRegular(join(repo.commonDir, file), join(dir, file));
  }
  const sparse = join(adminDir(repo, worktree.id), 'info/sparse-checkout');
  if (!(await exists(sparse))) return;
  await mkdir(join(dir, 'worktrees', worktree.id, 'info'), { recursive: true });
  await writeFile(join(dir, 'worktrees', worktree.id, 'info/sparse-checkout'), await readFile(sparse));
}

async function requireBranchName(repo: Repository, branch: string): Promise<void> {
  const args = ['check-ref-format', `refs/heads/${branch}`];
  const { code } = await git(repositoryPlace(repo), args, { okCodes: [0, 1] });
  if (code !== 0) throw new DroverError('bad_name', `${JSON.stringify(branch)} cannot be the name of a branch`);
}

function unfinished(shadowDir: string): string {
  return `${shadowDir}.new`;
}
