import { chmodSync, linkSync, renameSync, statSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { DroverError } from '../shared/errors.ts';

/** Linux takes 107 bytes; some are kept for the temporary name beside it. */
const PATH_MAX = 95;
let claims = 0;

/** Throws `socket_path_too_long` when a Unix socket cannot have this path. */
export function checkSocketPath(path: string): void {
  const length = Buffer.byteLength(path);
  if (length <= PATH_MAX) return;
  throw new DroverError(
    'socket_path_too_long',
    `The path of the engine's socket has ${length} bytes, and ${PATH_MAX} is the most: ${path}`,
    'Set DROVER_STATE_DIR to a shorter directory.',
  );
}

/**
 * Listens on `path`, mode 0600 from its first moment. The server listens under a name of its own, which is then linked to `path`:
 * a link never replaces, so that of two engines that start together one loses. What a dead engine left is moved aside.
 * Throws `engine_running` when something answers there.
 */
export async function claimSocket(server: Server, path: string): Promise<{ release(): void }> {
  checkSocketPath(path);
  const own = join(dirname(path), `e.${process.pid}.${++claims}`);
  removeIfThere(own);
  await listen(server, own);
  try {
    chmodSync(own, 0o600);
    const inode = statSync(own).ino;
    while (!linked(own, path)) await clearStale(path);
    return { release: () => inodeOf(path) === inode && removeIfThere(path) };
  } catch (error) {
    server.close();
    throw error;
  } finally {
    removeIfThere(own);
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function linked(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Moves a dead socket away; when another engine was quicker, what was moved is its socket and is put back. */
async function clearStale(path: string): Promise<void> {
  const inode = inodeOf(path);
  if (await answers(path)) throw running(path);
  const aside = join(dirname(path), `e.${process.pid}.${++claims}`);
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const same = inodeOf(aside) === inode;
  if (!same) linked(aside, path);
  removeIfThere(aside);
  if (!same) throw running(path);
}

function running(path: string): DroverError {
  return new DroverError('engine_running', `An engine is running already: ${path}`, 'Use it, or end it: drover down');
}

/** True when a connection to the Unix socket `path` is accepted. */
export function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
