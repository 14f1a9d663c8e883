import { createReadStream } from 'node:fs';
import { DroverError } from '@drover/core/client';

/** The bytes of a log file from `start`, piece by piece. A file that is not there is `no_log`. */
export async function* readLog(path: string, start = 0): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(path, { start })) yield chunk as Buffer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new DroverError('no_log', `There is no log ${path}.`, 'It has not begun, or was removed.');
  }
}
