import type { DetachKey } from './detach-key.ts';
import type { KeeperExit, KeeperStream } from './keeper-stream.ts';

/** The operator's terminal, as far as an attached session needs it. */
export interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}

// What an agent may have switched on and left: alternate screen, mouse, bracketed paste, hidden cursor, colours.
const RESET = ['?1049l', '?1000l', '?1002l', '?1003l', '?1006l', '?2004l', '?25h', '0m']
  .map((s) => `\u001b[${s}`)
  .join('');

export type SessionEnd = { detached: true } | { detached: false; exit: KeeperExit | null };

/** Joins terminal and keeper until the agent ends or the key is pressed. The terminal is put back in any case. */
export async function runSession(keeper: KeeperStream, terminal: Terminal, key: DetachKey): Promise<SessionEnd> {
  const { stdin, stdout } = terminal;
  const raw = stdin.isTTY === true;
  let detached = false;
  const onInput = (bytes: Buffer) => {
    const at = raw ? bytes.indexOf(key.byte) : -1;
    const kept = at < 0 ? bytes : bytes.subarray(0, at);
    if (kept.length > 0) keeper.write(kept);
    if (at < 0) return;
    detached = true;
    keeper.close();
  };
  const onResize = () => keeper.resize(stdout.rows ?? 24, stdout.columns ?? 80);
  if (raw) stdin.setRawMode(true);
  stdin.on('data', onInput);
  stdout.on('resize', onResize);
  try {
    for await (const bytes of keeper.output) {
      if (!stdout.write(bytes)) await new Promise((resolve) => stdout.once('drain', resolve));
    }
    return detached ? { detached } : { detached, exit: await keeper.exit };
  } finally {
    stdin.off('data', onInput);
    stdin.pause();
    stdout.off('resize', onResize);
    if (raw) stdin.setRawMode(false);
    if (stdout.isTTY) stdout.write(RESET);
  }
}
