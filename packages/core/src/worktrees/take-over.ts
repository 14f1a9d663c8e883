import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { SandboxProcess } from '../sandbox/types.ts';
import { DroverError } from '../shared/errors.ts';
import { GitError, git, gitCommand, lendObjects } from './git.ts';
import { type InsideExec, insideGit, runInside } from './inside.ts';
import { type Repository, repositoryGit, serialised } from './repository.ts';
import { refOid } from './results.ts';

export interface TakeOverInput {
  base: string;
  /** Where the commits go: `refs/drover/attempts/...`. */
  ref: string;
  /** The pack may have at most so many bytes. */
  maxBytes: number;
}

export interface TakenOver {
  head: string;
  /** Commits that the base does not have. */
  commits: number;
  /** Paths of new submodule links, which a user should know of before he enters them. */
  gitlinks: string[];
}

const QUARANTINE = 'tmp_objdir-drover-';
/** A quarantine of a dead engine is collected when it is this old. */
const STALE_MS = 24 * 3600_000;

/**
 * Brings the sandbox's commits into the user's repository: a pack made inside goes as a stream into `index-pack --strict` in a quarantine,
 * which hashes every object anew; what is connected is moved in, and only then the ref is set. The host reads nothing else that the
 * agent could write. Throws `takeover_failed`; the repository is then as it was.
 */
export async function takeOver(repository: Repository, exec: InsideExec, input: TakeOverInput): Promise<TakenOver> {
  const head = await insideHead(repository, exec);
  if (head !== input.base && !(await hasCommit(repository, head))) await bringPack(repository, exec, head, input);
  await serialised(repository, () => setAttemptRef(repository, input.ref, head));
  return {
    head,
    commits: await countCommits(repository, input.base, head),
    gitlinks: await newGitlinks(repository, input.base, head),
  };
}

/** How many commits `head` has that `base` has not. */
export async function countCommits(repository: Repository, base: string, head: string): Promise<number> {
  return Number(await repositoryGit(repository, ['rev-list', '--count', head, `^${base}`]));
}

/** An attempt of the same name in an earlier life of the state directory: what it did stays reachable. */
async function setAttemptRef(repository: Repository, ref: string, head: string): Promise<void> {
  const old = await refOid(repository, ref);
  if (old === head) return;
  if (old !== null) await repositoryGit(repository, ['update-ref', `refs/drover/snapshots/replaced/${old}`, old]);
  await repositoryGit(repository, ['update-ref', ref, head]);
}

async function insideHead(repository: Repository, exec: InsideExec): Promise<string> {
  const answer = await runInside(exec, ['rev-parse', '--verify', 'HEAD^{commit}']);
  const head = answer.stdout.toString('latin1').trim();
  if (answer.code === 0 && new RegExp(`^[0-9a-f]{${repository.oidLength}}$`).test(head)) return head;
  throw failed(`its HEAD is no commit: ${answer.stderr.trim().slice(0, 200) || head.slice(0, 80)}`);
}

async function hasCommit(repository: Repository, oid: string): Promise<boolean> {
  return repositoryGit(repository, ['rev-list', '--quiet', '--max-count=1', oid, '--not', '--all']).then(
    () => repositoryGit(repository, ['cat-file', '-e', `${oid}^{commit}`]).then(() => true),
    () => false,
  );
}

async function bringPack(repository: Repository, exec: InsideExec, head: string, input: TakeOverInput): Promise<void> {
  const objects = join(repository.commonDir, 'objects');
  const quarantine = await mkdtemp(join(objects, QUARANTINE));
  const place = {
    gitDir: repository.commonDir,
    env: { GIT_OBJECT_DIRECTORY: quarantine, ...lendObjects(objects) },
  };
  try {
    await receivePack(repository, exec, head, input, place);
    await checkConnected(head, place);
    await movePack(quarantine, objects);
  } finally {
    await rm(quarantine, { recursive: true, force: true });
  }
}

async function receivePack(
  repository: Repository,
  exec: InsideExec,
  head: string,
  input: TakeOverInput,
  place: { gitDir: string; env: Record<string, string> },
): Promise<void> {
  const known = await repositoryGit(repository, ['for-each-ref', '--format=^%(objectname)']);
  const inside = await exec(insideGit(['pack-objects', '--revs', '--thin', '--stdout', '--delta-base-offset', '-q']));
  const { argv, env } = gitCommand(
    ['index-pack', '--stdin', '--fix-thin', '--strict', `--max-input-size=${input.maxBytes}`],
    place,
  );
  const host = spawn('git', argv, { env, cwd: '/', stdio: ['pipe', 'ignore', 'pipe'] });
  const hostEnd = new Promise<number | null>((resolve, reject) => {
    host.once('error', reject);
    host.once('close', resolve);
  });
  const said = Promise.all([tail(inside.stderr), tail(host.stderr)]);
  inside.stdin.on('error', () => undefined);
  // Refs of the repository that the sandbox does not know are no error there: they are only left out.
  inside.stdin.end([head, ...(await knownInside(exec, known)), ''].join('\n'));
  await pipeline(inside.stdout, host.stdin).catch(() => endInside(inside));
  const code = await hostEnd;
  const result = await inside.result.catch(() => ({ code: null, signal: null }));
  const [insideSaid, hostSaid] = await said;
  if (result.code !== 0)
    throw failed(`pack-objects in the sandbox ended with ${result.code ?? result.signal}: ${insideSaid}`);
  if (code !== 0) throw failed(`the pack was refused: ${hostSaid}`);
}

/** `pack-objects` dies of an id it does not have; those that came after the sandbox began are unknown to it. */
async function knownInside(exec: InsideExec, known: string): Promise<string[]> {
  const lines = known.split('\n').filter(Boolean);
  const answer = await runInside(
    exec,
    ['cat-file', '--batch-check=%(objectname)'],
    lines.map((line) => `${line.slice(1)}\n`).join(''),
  );
  const found = new Set(answer.stdout.toString('latin1').split('\n'));
  return lines.filter((line) => found.has(line.slice(1)));
}

function endInside(inside: SandboxProcess): void {
  inside.stdin.destroy();
  inside.stdout.resume();
}

async function checkConnected(head: string, place: { gitDir: string; env: Record<string, string> }): Promise<void> {
  try {
    await git(['rev-list', '--objects', '--quiet', head, '--not', '--all'], place);
    await git(['cat-file', '-e', `${head}^{commit}`], place);
  } catch (error) {
    throw failed(
      `the pack is not complete: ${error instanceof GitError ? error.stderr.trim().slice(0, 200) : String(error)}`,
    );
  }
}

/** The index last: git sees a pack by its index, and then the pack must be there. */
async function movePack(quarantine: string, objects: string): Promise<void> {
  const names = await readdir(join(quarantine, 'pack')).catch(() => [] as string[]);
  const order = [...names.filter((name) => !name.endsWith('.idx')), ...names.filter((name) => name.endsWith('.idx'))];
  for (const name of order) {
    if (/^pack-[0-9a-f]+\.(pack|rev|idx)$/.test(name))
      await rename(join(quarantine, 'pack', name), join(objects, 'pack', name));
  }
}

async function newGitlinks(repository: Repository, base: string, head: string): Promise<string[]> {
  const changes = await repositoryGit(repository, ['diff-tree', '-r', '-z', '--raw', '--no-renames', base, head]);
  const fields = changes.split('\0');
  const paths: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) if (/^:\d{6} 160000 /.test(fields[i]!)) paths.push(fields[i + 1]!);
  return paths;
}

/** Removes quarantines that an engine which died left behind. */
export async function cleanQuarantines(repository: Repository, nowMs: number): Promise<void> {
  const objects = join(repository.commonDir, 'objects');
  for (const name of await readdir(objects)) {
    if (!name.startsWith(QUARANTINE)) continue;
    const { mtimeMs } = await stat(join(objects, name));
    if (nowMs - mtimeMs > STALE_MS) await rm(join(objects, name), { recursive: true, force: true });
  }
}

async function tail(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text = (text + chunk.toString('utf8')).slice(-500);
  return text.trim();
}

function failed(message: string): DroverError {
  return new DroverError('takeover_failed', message, '');
}
