import { copyFile, cp, lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import type { AgentIdentity, Mount } from '../sandbox/types.ts';
import { giveTree } from '../shared/give-tree.ts';
import { GitError, git, lendObjects } from './git.ts';
import { type Repository, repositoryGit } from './repository.ts';
import type { Worktree } from './worktree.ts';

export interface ShadowInput {
  repository: Repository;
  worktree: Worktree;
  /** S: takes the place of the user's common directory. */
  shadowDir: string;
  /** Branch that the agent finds itself on. It exists only in the shadow. */
  branch: string;
  base: string;
  identity: AgentIdentity;
  /** True: S is mounted at the common directory's own path. False (`basic`): the worktree's `.git` leads to S where it is. */
  contained: boolean;
}

export interface WorktreeLayout {
  mounts: Mount[];
}

/**
 * Builds the shadow common directory: a private one with the user's refs, a filtered configuration, copies of the worktree's gitdir and
 * index, and the real objects read-only as an alternate. Every git operation of the agent works there and none touches the user's.
 * Files the agent must own are given to it before the index is refreshed, so that its first status is clean and quick.
 */
export async function prepareShadow(input: ShadowInput): Promise<WorktreeLayout> {
  const { repository, worktree, shadowDir, base, contained } = input;
  const gitDir = join(shadowDir, 'worktrees', worktree.id);
  await mkdir(join(shadowDir, 'objects', 'info'), { recursive: true });
  await mkdir(join(shadowDir, 'objects', 'pack'), { recursive: true });
  await mkdir(join(shadowDir, 'refs', 'heads'), { recursive: true });
  await mkdir(gitDir, { recursive: true });
  const objects = join(repository.commonDir, 'objects');
  await writeFile(join(shadowDir, 'objects', 'info', 'alternates'), contained ? '../base-objects\n' : `${objects}\n`);
  await writeFile(join(shadowDir, 'HEAD'), `${base}\n`);
  await writeFile(join(shadowDir, 'packed-refs'), await packedRefs(repository, input));
  await writeFile(join(shadowDir, 'config'), await filteredConfig(repository));
  await copyOptional(repository, shadowDir);
  if (contained) await mkdir(join(shadowDir, 'base-objects'));
  await writeFile(join(gitDir, 'HEAD'), `ref: refs/heads/${input.branch}\n`);
  await writeFile(join(gitDir, 'commondir'), '../..\n');
  await writeFile(join(gitDir, 'gitdir'), `${join(worktree.path, '.git')}\n`);
  await copyFile(join(repository.commonDir, 'worktrees', worktree.id, 'index'), join(gitDir, 'index'));
  if (!contained) await writeFile(join(worktree.path, '.git'), `gitdir: ${gitDir}\n`);
  await giveTree(worktree.path, input.identity);
  await refreshIndex(input, gitDir, objects);
  await giveTree(shadowDir, input.identity);
  return { mounts: contained ? await mountsOf(input, objects) : [] };
}

/** All refs but Drover's own and the stash, and the agent's branch at the base. */
async function packedRefs(repository: Repository, { branch, base }: ShadowInput): Promise<string> {
  const listed = await repositoryGit(repository, ['for-each-ref', '--format=%(objectname) %(refname)']);
  const kept = listed
    .split('\n')
    .filter(Boolean)
    .filter((line) => !/ refs\/(heads\/drover|drover|stash)(\/|$)/.test(line));
  const all = [...kept, `${base} refs/heads/${branch}`].sort((a, b) =>
    a.slice(a.indexOf(' ')) < b.slice(b.indexOf(' ')) ? -1 : 1,
  );
  return `# pack-refs with: sorted \n${all.join('\n')}\n`;
}

/**
 * Settings that do not come along: secrets, what leads out of the shadow, and what runs a program of the user's on every command.
 * Filters stay: without them an LFS repository shows every file as changed.
 */
const LEFT_BEHIND = [
  /^core\.(worktree|bare|fsmonitor|hookspath|sshcommand|gitproxy|askpass|alternaterefscommand|editor|pager)$/,
  /^include(if)?\./,
  /^credential\./,
  /^http\..*(extraheader|cookiefile|sslkey|sslcert|proxyauthmethod|proxy)$/,
  /^extensions\.(refstorage|worktreeconfig)$/,
  /^(gc|maintenance)\./,
  /^(user\.signingkey|gpg\..*|commit\.gpgsign|tag\.gpgsign)$/,
];

const ADDED = [
  ['core.bare', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
] as const;

/** The repository's own configuration without {@link LEFT_BEHIND} and without passwords in URLs. */
export async function filteredConfig(repository: Repository): Promise<string> {
  const file = join(repository.commonDir, 'config');
  // One file, no includes, so that nothing of the user's home gets in.
  const listed = await git(['config', '--file', file, '--no-includes', '--list', '-z'], { cwd: '/' });
  const entries = listed
    .split('\0')
    .filter(Boolean)
    .map((entry): [string, string] => {
      const at = entry.indexOf('\n');
      return at < 0 ? [entry, 'true'] : [entry.slice(0, at), entry.slice(at + 1)];
    })
    .filter(([key]) => !LEFT_BEHIND.some((pattern) => pattern.test(key)));
  return [...entries, ...ADDED]
    .map(([key, value]) => formatEntry(withoutPassword(key), withoutPassword(value)))
    .join('');
}

function withoutPassword(text: string): string {
  return text.replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^/@\s]*@/gi, '$1');
}

/** `section.sub.section.name` in git's file format; a subsection may hold anything but a newline. */
function formatEntry(key: string, value: string): string {
  const first = key.indexOf('.');
  const last = key.lastIndexOf('.');
  const sub = first === last ? '' : ` "${key.slice(first + 1, last).replace(/[\\"]/g, '\\$&')}"`;
  const quoted = value
    .replace(/[\\"]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('\b', '\\b');
  return `[${key.slice(0, first)}${sub}]\n\t${key.slice(last + 1)} = "${quoted}"\n`;
}

/** What a repository may have beside: where a shallow clone ends, what is ignored, hooks. Links are not followed. */
async function copyOptional(repository: Repository, shadowDir: string): Promise<void> {
  await mkdir(join(shadowDir, 'info'), { recursive: true });
  for (const name of ['shallow', 'info/exclude', 'info/attributes', 'info/sparse-checkout']) {
    const from = join(repository.commonDir, name);
    if ((await kindOf(from)) === 'file') await copyFile(from, join(shadowDir, name));
  }
  const hooks = join(repository.commonDir, 'hooks');
  if ((await kindOf(hooks)) === 'directory') {
    await cp(hooks, join(shadowDir, 'hooks'), {
      recursive: true,
      dereference: false,
      filter: async (from) => (await kindOf(from)) !== 'other',
    });
  }
}

async function kindOf(path: string): Promise<'file' | 'directory' | 'other'> {
  const found = await lstat(path).catch(() => null);
  if (found?.isFile()) return 'file';
  return found?.isDirectory() ? 'directory' : 'other';
}

/**
 * Every index entry is compared with its file once more: owner and change time of the files are others after they were given away.
 * On the host, but before any agent has written here.
 */
async function refreshIndex(input: ShadowInput, gitDir: string, objects: string): Promise<void> {
  const place = {
    gitDir,
    workTree: input.worktree.path,
    index: join(gitDir, 'index'),
    // base-objects is empty on the host: the alternate is only there inside.
    env: lendObjects(objects),
  };
  try {
    await git(['update-index', '-q', '--refresh'], place);
  } catch (error) {
    // 1: some entry differs, e.g. by a filter; the first status then says the same.
    if (!(error instanceof GitError && error.exitCode === 1)) throw error;
  }
}

async function mountsOf(input: ShadowInput, objects: string): Promise<Mount[]> {
  const { repository, worktree, shadowDir } = input;
  const { commonDir, mainWorktree } = repository;
  const mounts: Mount[] = [
    ...(mainWorktree === null ? [] : [{ kind: 'tmpfs' as const, dst: mainWorktree }]),
    { kind: 'rw', src: shadowDir, dst: commonDir },
    { kind: 'ro', src: objects, dst: join(commonDir, 'base-objects') },
    { kind: 'rw', src: worktree.path, dst: worktree.path },
    // `rm .git` and `mv .git` are then EBUSY, and it always leads to the shadow.
    { kind: 'ro', src: join(worktree.path, '.git'), dst: join(worktree.path, '.git') },
  ];
  for (const path of await alternates(objects)) mounts.push({ kind: 'ro', src: path, dst: path });
  return mounts;
}

/** Object directories that the user's own borrows from, and theirs in turn. */
async function alternates(objects: string, seen = new Set<string>()): Promise<string[]> {
  const text = await readFile(join(objects, 'info', 'alternates'), 'utf8').catch(() => '');
  for (const line of text.split('\n').filter((each) => each && !each.startsWith('#'))) {
    const path = isAbsolute(line) ? line : resolve(objects, line);
    if (seen.has(path) || (await kindOf(path)) !== 'directory') continue;
    seen.add(path);
    await alternates(path, seen);
  }
  return [...seen];
}

/** Removes a shadow directory. */
export async function removeShadow(shadowDir: string): Promise<void> {
  await rm(shadowDir, { recursive: true, force: true });
}
