import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ExecResult, ExecSpec, SandboxProcess } from '../sandbox/types.ts';

/** Output of setup and verify commands kept on disk; the rest is read and dropped. */
const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;
const TAIL_BYTES = 2 * 1024;

export interface CommandOutcome {
  ok: boolean;
  /** How it ended and its last line, for people. */
  detail: string;
}

/**
 * Runs a setup or verify command in a sandbox and keeps its output, stdout and stderr together, in `logPath`.
 * Rejects only when the sandbox went away or the command was given up.
 */
export async function runCommand(
  exec: (spec: ExecSpec) => Promise<SandboxProcess>,
  spec: ExecSpec,
  logPath: string,
): Promise<CommandOutcome> {
  await mkdir(dirname(logPath), { recursive: true });
  const log = createWriteStream(logPath);
  let written = 0;
  let tail = '';
  const keep = async (stream: Readable): Promise<void> => {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      tail = (tail + chunk.toString('utf8')).slice(-TAIL_BYTES);
      const room = OUTPUT_MAX_BYTES - written;
      if (room <= 0) continue;
      written += chunk.length;
      if (!log.write(chunk.subarray(0, room))) await once(log, 'drain');
    }
  };
  try {
    const child = await exec(spec);
    child.stdin.end();
    const kept = Promise.all([keep(child.stdout), keep(child.stderr)]);
    // Also of a command that was given up all output is awaited: the log is closed after it.
    const [ended] = await Promise.allSettled([child.result, kept]);
    if (ended.status === 'rejected') throw ended.reason;
    await kept;
    const result = ended.value;
    return { ok: result.code === 0, detail: describe(spec.argv, result, tail) };
  } finally {
    log.end();
    await finished(log);
  }
}

function describe(argv: string[], result: ExecResult, tail: string): string {
  const how = result.signal === null ? `exit ${result.code}` : `signal ${result.signal}`;
  const lastLine = tail.trimEnd().split('\n').at(-1)?.trim().slice(0, 200) ?? '';
  const command = argv[0] === 'sh' && argv[1] === '-c' ? (argv[2] ?? '') : argv.join(' ');
  const said = result.code === 0 || lastLine === '' ? '' : `: ${lastLine}`;
  return `\`${command.slice(0, 80)}\` ended with ${how}${said}`;
}
