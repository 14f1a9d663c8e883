import { Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { SandboxProcess } from '../sandbox/types.ts';
import { checkedResult, type GitProcess, spawnGit } from './git.ts';
import { GitError } from './git-error.ts';
import { disconnect, head64k, type Inside, insideEnvironment, insideGit, startInside, withDeadline } from './inside.ts';
import type { Quarantine } from './quarantine.ts';
import type { Repository } from './repository.ts';
import { TakeOverError } from './take-over-error.ts';

/** Of a few megabytes a hostile pack could unfold into all the memory there is. */
const INDEX_PACK_MEMORY = 2 * 1024 ** 3;

export interface ReceiveOptions {
  /** Lines for `pack-objects --revs`. */
  revisions: string;
  maxBytes: number;
  timeoutMs: number;
}

/**
 * Streams a pack out of the sandbox into the quarantine. Nothing is buffered; size and time are bounded on this side,
 * whatever the other one does. index-pack keeps what it has hashed itself, and refuses `.git` in trees, bad `.gitmodules`
 * and what else `fsck` calls an error.
 */
export async function receivePack(
  repo: Repository,
  inside: Inside,
  quarantine: Quarantine,
  options: ReceiveOptions,
): Promise<void> {
  const { timeoutMs } = options;
  const argv = insideGit(['pack-objects', '--revs', '--thin', '--stdout', '--delta-base-offset', '-q']);
  const packer = await startInside(inside, argv, { env: insideEnvironment(inside), timeoutMs }).catch((error) => {
    throw new TakeOverError('sandbox', error.message, error);
  });
  const indexer = startIndexer(repo, quarantine, options);
  const limit = new ByteLimit(options.maxBytes);
  try {
    await withDeadline(transfer(packer, indexer, limit, options), timeoutMs, argv);
  } catch (error) {
    throw explain(error, limit);
  } finally {
    disconnect(packer);
    indexer.process.kill('SIGKILL');
    await indexer.process.catch(() => {});
  }
}

interface Indexer {
  process: GitProcess;
  args: string[];
}

function startIndexer(repo: Repository, quarantine: Quarantine, { maxBytes, timeoutMs }: ReceiveOptions): Indexer {
  // A partial clone lacks objects that new ones point to: there only the objects themselves are checked.
  const check = repo.partial ? '--fsck-objects' : '--strict';
  const args = ['index-pack', '--stdin', '--fix-thin', check, `--max-input-size=${maxBytes}`];
  const process = spawnGit(quarantine.place, args, {
    timeoutMs,
    memoryBytes: INDEX_PACK_MEMORY,
    maxBytes: 1024 * 1024,
    config: [['pack.threads', '2']],
    env: { GIT_NO_REPLACE_OBJECTS: '1' },
  });
  return { process, args };
}

async function transfer(
  packer: SandboxProcess,
  indexer: Indexer,
  limit: ByteLimit,
  { revisions }: ReceiveOptions,
): Promise<void> {
  packer.stdin.on('error', () => {}); // a packer that ends early is told by its exit code
  packer.stdin.end(revisions);
  const stderr = head64k(packer.stderr);
  let ended = false;
  packer.stdout.once('end', () => {
    ended = true;
  });
  // index-pack may have read the last byte and be gone before this side has closed the pipe. Whether all went well is
  // told by the exit codes of both ends, and what a sandbox sends after its pack nobody has read.
  pipeline(packer.stdout, limit, indexer.process.stdin).catch(() => {});
  const indexed = await checkedResult(indexer.process, indexer.args).catch((error: unknown) => error);
  // A stream that ended by itself too early is explained by its sender's own failure.
  if (!(indexed instanceof Error) || ended) await requireSuccess(packer, stderr);
  if (indexed instanceof Error) throw indexed;
}

async function requireSuccess(packer: SandboxProcess, stderr: Promise<string>): Promise<void> {
  const { code } = await packer.result.catch((error) => {
    throw new TakeOverError('sandbox', 'the sandbox went away', error);
  });
  if (code !== 0)
    throw new TakeOverError('sandbox', `git pack-objects: ${(await stderr).trim() || `exit code ${code}`}`);
}

function explain(error: unknown, limit: ByteLimit): TakeOverError {
  if (error instanceof TakeOverError) return error;
  if (limit.exceeded || isTooLarge(error))
    return new TakeOverError('too_large', `more than ${limit.maxBytes} bytes`, error);
  if (!(error instanceof GitError)) return new TakeOverError('timeout', (error as Error).message, error);
  if (error.timedOut) return new TakeOverError('timeout', error.message, error);
  return new TakeOverError('rejected', error.message, error);
}

function isTooLarge(error: unknown): boolean {
  return error instanceof GitError && /exceeds maximum allowed size/.test(error.stderr);
}

/** Counts, and breaks the pipe past the limit: index-pack looks at its own only after each object. */
class ByteLimit extends Transform {
  readonly maxBytes: number;
  exceeded = false;
  #seen = 0;

  constructor(maxBytes: number) {
    super();
    this.maxBytes = maxBytes;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#seen += chunk.length;
    this.exceeded = this.#seen > this.maxBytes;
    if (this.exceeded) done(new Error('too many bytes'));
    else done(null, chunk);
  }
}
