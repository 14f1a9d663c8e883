import type { ExitRecord, KeeperAttachment } from '@drover/helper';
import type { DetachKey } from './detach-key.ts';
import { exitOf } from './open-keeper.ts';

/** The operator's side of an attached session. */
export interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  key: DetachKey;
  /** Without it the keyboard can only leave. */
  writes: boolean;
  onResize(rows: number, cols: number): void;
}

// What an agent may have switched on and left: alternate screen, mouse, bracketed paste, hidden cursor, colours.
const RESET = ['?1049l', '?1000l', '?1002l', '?1003l', '?1006l', '?2004l', '?25h', '0m']
  .map((sequence) => `\u001b[${sequence}`)
  .join('');

export type SessionEnd = { left: true } | { left: false; exit: ExitRecord | null };

/** Joins terminal and keeper until the agent ends or the key is pressed. The terminal is put back in any case. */
export async function runSession(keeper: KeeperAttachment, terminal: Terminal): Promise<SessionEnd> {
  const { stdin, stdout, key, writes } = terminal;
  const raw = stdin.isTTY === true;
  let left = false;
  const onInput = (bytes: Buffer) => {
    const at = raw ? bytes.indexOf(key.byte) : -1;
    const kept = at < 0 ? bytes : bytes.subarray(0, at);
    if (writes && kept.length > 0) keeper.input.write(kept);
    if (at < 0) return;
    left = true;
    keeper.close();
  };
  const onResize = () => terminal.onResize(stdout.rows, stdout.columns);
  if (raw) stdin.setRawMode(true);
  stdin.on('data', onInput);
  stdout.on('resize', onResize);
  try {
    for await (const bytes of keeper.output) {
      if (!stdout.write(bytes)) await new Promise((resolve) => stdout.once('drain', resolve));
    }
    return left ? { left } : { left, exit: await exitOf(keeper) };
  } finally {
    stdin.off('data', onInput);
    stdin.pause();
    stdout.off('resize', onResize);
    if (raw) stdin.setRawMode(false);
    if (stdout.isTTY) stdout.write(RESET);
  }
}
