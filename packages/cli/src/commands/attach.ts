import { statSync } from 'node:fs';
import { DroverError, type LogPlace } from '@drover/core/client';
import { KeeperClient } from '@drover/helper';
import { type DetachKey, detachKey } from '../attach/detach-key.ts';
import { openKeeper } from '../attach/open-keeper.ts';
import { runSession, type SessionEnd } from '../attach/session.ts';
import { type Context, defineCommand } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { cleanLine } from '../term/sanitize.ts';

interface Options {
  detachKey?: DetachKey;
  readOnly?: boolean;
}

/** So much of what was written before is shown again. */
const REPLAY_BYTES = 64 * 1024;

export const command = defineCommand<Options>({
  description: 'Shows what it wrote last, then its terminal as it is, with the keyboard. Leaving does not end it.',
  options: [
    {
      flags: '--detach-key <key>',
      description: 'The key that leaves, e.g. ctrl-q (default: ctrl-], or DROVER_DETACH_KEY)',
      parse: detachKey,
    },
    { flags: '--read-only', description: 'Watch, without the keyboard' },
  ],
  examples: [
    ['drover attach demo/build', 'Join it; Ctrl-] leaves'],
    ['drover attach demo/build --read-only', 'Watch it'],
  ],
  async run(context, [ref = ''], options) {
    if (context.out.json) throw new DroverError('usage', 'attach has no JSON.', 'Use: drover logs REF -f --json');
    const api = await context.engine();
    const place = await api.logs({ ref });
    if (!place.live)
      throw new DroverError('not_live', `${ref} does not run.`, `Read what it wrote: drover logs ${ref}`);
    const key = options.detachKey ?? detachKey(context.env.DROVER_DETACH_KEY ?? 'ctrl-]');
    const writes = place.tty && options.readOnly !== true;
    context.out.note(greeting(ref, place, writes, key));
    const end = await join(place, writes, key, context);
    return farewell(end, ref, context);
  },
});

async function join(place: LogPlace, writes: boolean, key: DetachKey, context: Context): Promise<SessionEnd> {
  const { stdin, stdout } = process;
  const dir = place.directory;
  const keeper = await openKeeper(dir, {
    mode: writes ? 'rw' : 'ro',
    offset: Math.max(0, sizeOf(place.stdout) - REPLAY_BYTES),
    ...(writes && stdout.isTTY ? { rows: stdout.rows, cols: stdout.columns } : {}),
  });
  // Without a keyboard of its own Ctrl-C is a signal, and leaves.
  context.interrupted.addEventListener('abort', () => keeper.close(), { once: true });
  const onResize = (rows: number, cols: number) => {
    if (writes) void KeeperClient.resize(dir, { rows, cols }).catch(() => {});
  };
  return await runSession(keeper, { stdin, stdout, key, writes, onResize });
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function greeting(ref: string, place: LogPlace, writes: boolean, key: DetachKey): string {
  if (writes) return `[${ref}: ${key.name} leaves, the agent goes on]`;
  const why = place.tty ? 'read only' : 'it has no terminal: output only';
  return `[${ref}: ${why}; ${key.name} leaves]`;
}

function farewell(end: SessionEnd, ref: string, { out, interrupted }: Context): number {
  const name = cleanLine(ref);
  if (end.left || interrupted.aborted || end.exit === null) {
    out.note(`\n[left ${name}; it goes on]`);
    return EXIT_CODES.ok.code;
  }
  const how = end.exit.signal === null ? `exit code ${end.exit.code}` : `signal ${end.exit.signal}`;
  out.note(`\n[${name} has ended: ${how}]`);
  return EXIT_CODES.ok.code;
}
