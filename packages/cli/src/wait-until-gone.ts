import { existsSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { answers, DroverError } from '@drover/core/client';

/** Resolves when nothing answers at `path` any more; throws `engine_still_up` after the time. */
export async function waitUntilGone(path: string, timeoutMs: number): Promise<void> {
  if (!existsSync(dirname(path))) return;
  const watcher = watch(dirname(path));
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(stillUp()), timeoutMs);
      const look = async () => {
        if (await answers(path)) return;
        clearTimeout(timer);
        resolve();
      };
      watcher.on('change', () => void look());
      void look();
    });
  } finally {
    watcher.close();
  }
}

function stillUp(): DroverError {
  return new DroverError('engine_still_up', 'The engine has not ended in time.', 'See its engine.log.');
}
