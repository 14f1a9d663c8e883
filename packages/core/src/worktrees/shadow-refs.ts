import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { git } from './git.ts';
import { isDroverRef } from './names.ts';
import { type Repository, repositoryPlace } from './repository.ts';

interface Ref {
  name: string;
  oid: string;
  /** The ref that a symbolic one points to; empty for others. */
  target: string;
}

/** Kept for one worktree or by one tool of the user's; an agent has no use for them. */
const PRIVATE = /^refs\/(stash$|bisect\/|worktree\/|rewritten\/|prefetch\/)/;

/**
 * Writes the refs an agent finds: the user's, without Drover's own and the stash, and its own branch at `base`.
 * Names go through as latin1, whatever their encoding.
 */
export async function writeShadowRefs(
  repo: Repository,
  shadow: string,
  own: { ref: string; base: string },
): Promise<void> {
  const refs = (await userRefs(repo)).filter(({ name }) => !collides(name, own.ref));
  const packed = refs.filter(({ target }) => target === '').concat({ name: own.ref, oid: own.base, target: '' });
  await writeFile(join(shadow, 'packed-refs'), packedRefs(packed), 'latin1');
  for (const ref of refs.filter(({ target }) => target !== '')) await writeSymbolic(shadow, ref);
}

async function userRefs(repo: Repository): Promise<Ref[]> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname) %(symref)'];
  const { stdout } = await git(repositoryPlace(repo), args, { maxBytes: 512 * 1024 * 1024 });
  return stdout
    .toString('latin1')
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' '))
    .map(([oid = '', name = '', target = '']) => ({ oid, name, target }))
    .filter(({ name }) => !isDroverRef(name) && !PRIVATE.test(name));
}

/** A ref cannot be a file and a directory: `drover` of the user's would stand in the way of `drover/<plan>/<task>`. */
function collides(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

function packedRefs(refs: readonly Ref[]): string {
  const lines = refs.map(({ oid, name }) => ({ name, line: `${oid} ${name}\n` }));
  lines.sort((a, b) => (a.name < b.name ? -1 : 1)); // latin1: by bytes, as git sorts
  return `# pack-refs with: sorted \n${lines.map(({ line }) => line).join('')}`;
}

async function writeSymbolic(shadow: string, { name, target }: Ref): Promise<void> {
  // The shadow's path is text, the ref's name is bytes: joined as bytes.
  const file = Buffer.concat([Buffer.from(`${shadow}/`), Buffer.from(name, 'latin1')]);
  await mkdir(file.subarray(0, file.lastIndexOf('/')), { recursive: true });
  await writeFile(file, `ref: ${target}\n`, 'latin1');
}
