import { execFileSync } from 'node:child_process';
import { PassThrough, Readable } from 'node:stream';
import type { SandboxProcess } from '../../sandbox/types.ts';
import type { Inside, SandboxExec } from '../inside.ts';

export interface Answer {
  stdout?: Readable | Buffer | string;
  stderr?: Readable | string;
  code?: number;
  /** The command never ends. */
  hangs?: boolean;
  /** The sandbox goes away. */
  breaks?: boolean;
}

/** A sandbox that answers each git command with whatever its agent likes. `disconnected` counts streams that were closed. */
export function hostileInside(
  answer: (subcommand: string, input: Promise<string>) => Answer | Promise<Answer>,
): Inside & { disconnected(): number } {
  let closed = 0;
  const exec: SandboxExec = async (argv) => {
    const stdin = new PassThrough();
    const input = text(stdin);
    input.catch(() => {});
    const given = await answer(subcommandOf(argv), input);
    const stdout = toStream(given.stdout);
    stdout.on('close', () => closed++);
    return { stdin, stdout, stderr: toStream(given.stderr), result: resultOf(given) };
  };
  return { exec, cwd: '/', env: {}, disconnected: () => closed };
}

/** Bytes without end. */
export function endless(chunk: string | Buffer, first: string | Buffer = ''): Readable {
  return Readable.from(
    (function* () {
      if (first.length > 0) yield Buffer.from(first);
      for (;;) yield Buffer.from(chunk);
    })(),
    { objectMode: false },
  );
}

/** A pack of exactly these objects, whatever refers to them. */
export function packOf(gitDir: string, oids: readonly string[]): Buffer {
  return execFileSync('git', ['--git-dir', gitDir, 'pack-objects', '--stdout', '-q'], {
    input: `${oids.join('\n')}\n`,
    maxBuffer: 1 << 28,
  });
}

/** Writes an object without any of git's checks. */
export function forge(gitDir: string, type: string, content: string | Buffer): string {
  const args = ['--git-dir', gitDir, 'hash-object', '-t', type, '-w', '--stdin', '--literally'];
  return execFileSync('git', args, { input: content, encoding: 'utf8' }).trim();
}

/** A tree object, of entries that git itself would refuse. */
export function forgeTree(gitDir: string, entries: readonly { mode: string; name: string; oid: string }[]): string {
  const parts = entries.flatMap(({ mode, name, oid }) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')]);
  return forge(gitDir, 'tree', Buffer.concat(parts));
}

export function forgeCommit(gitDir: string, tree: string, parent?: string): string {
  const who = 'M <m@example.org> 1700000000 +0000';
  const lines = [
    `tree ${tree}`,
    ...(parent ? [`parent ${parent}`] : []),
    `author ${who}`,
    `committer ${who}`,
    '',
    'forged',
    '',
  ];
  return forge(gitDir, 'commit', lines.join('\n'));
}

function subcommandOf(argv: readonly string[]): string {
  return argv.find((arg) => arg === 'rev-parse' || arg === 'pack-objects') ?? argv[0]!;
}

async function text(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function toStream(from: Readable | Buffer | string = ''): Readable {
  return from instanceof Readable ? from : Readable.from([Buffer.from(from)], { objectMode: false });
}

function resultOf({ hangs, breaks, code = 0 }: Answer): SandboxProcess['result'] {
  if (hangs) return new Promise(() => {});
  if (breaks) return Promise.reject(new Error('keeper lost'));
  return Promise.resolve({ code, signal: null });
}
