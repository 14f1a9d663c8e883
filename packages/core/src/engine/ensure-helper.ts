import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { helperBinary } from '@drover/helper';
import { DroverError } from '../shared/errors.ts';

const START_MS = 5_000;
/** It goes by itself so long after its last client and sandbox. */
const IDLE_EXIT_S = 60;

/**
 * Sees that a helper answers at `socket`. Only an engine of root starts one itself (it could do all of that anyway); for anybody else
 * starting it is root's decision, and the error says how. Throws `helper_unreachable`.
 */
export async function ensureHelper(socket: string): Promise<void> {
  if (await answers(socket)) return;
  if (process.getuid!() !== 0) {
    throw new DroverError(
      'helper_unreachable',
      `no helper answers at ${socket}`,
      `Let root start it: sudo ${helperBinary()} --allow-uid ${process.getuid!()}`,
    );
  }
  await mkdir(dirname(socket), { recursive: true, mode: 0o755 });
  const log = openSync(join(dirname(socket), 'helper.log'), 'a', 0o600);
  try {
    const child = spawn(
      helperBinary(),
      ['--socket', socket, '--state-dir', dirname(socket), '--idle-exit', String(IDLE_EXIT_S)],
      {
        detached: true,
        stdio: ['ignore', log, log],
        cwd: '/',
        env: {},
      },
    );
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) =>
        reject(
          new DroverError(
            'helper_unreachable',
            `the helper cannot be started: ${error.message}`,
            'Build it: `make -C packages/helper/native`.',
          ),
        ),
      );
    });
    child.unref();
  } finally {
    closeSync(log);
  }
  await answersSoon(socket);
}

async function answersSoon(socket: string): Promise<void> {
  const until = performance.now() + START_MS;
  for (let wait = 2; performance.now() < until; wait = Math.min(wait * 2, 100)) {
    if (await answers(socket)) return;
    await sleep(wait);
  }
  throw new DroverError(
    'helper_unreachable',
    `the helper was started but does not answer at ${socket}`,
    `Read ${join(dirname(socket), 'helper.log')}.`,
  );
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socket);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(false));
  });
}
