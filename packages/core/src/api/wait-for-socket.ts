import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { answers } from './claim-socket.ts';

/**
 * Resolves true as soon as something answers at `path`, false after `timeoutMs` or when `given up` aborts.
 * Driven by the directory's own events: the engine links its socket there when it listens.
 */
export async function waitForSocket(path: string, timeoutMs: number, givenUp?: AbortSignal): Promise<boolean> {
  const name = basename(path);
  const watcher = watch(dirname(path));
  const timeout = AbortSignal.timeout(timeoutMs);
  const end = givenUp ? AbortSignal.any([givenUp, timeout]) : timeout;
  try {
    return await new Promise<boolean>((resolve) => {
      const look = () => void answers(path).then((there) => there && resolve(true));
      watcher.on('change', (_kind, file) => String(file) === name && look());
      watcher.on('error', () => resolve(false));
      end.addEventListener('abort', () => resolve(false), { once: true });
      if (end.aborted) resolve(false);
      // Only after the watch stands, so that nothing falls between.
      look();
    });
  } finally {
    watcher.close();
  }
}
