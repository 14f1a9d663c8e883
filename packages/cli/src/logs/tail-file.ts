import { watch } from 'node:fs';
import { readLog } from './read-file.ts';

/** The bytes of a growing file, until `end` aborts and all that was written is read. Driven by the file's own events. */
export async function* tailLog(path: string, end: AbortSignal): AsyncGenerator<Uint8Array> {
  let wake = () => {};
  const watcher = watch(path, () => wake());
  end.addEventListener('abort', () => wake());
  let at = 0;
  try {
    for (;;) {
      const last = end.aborted;
      const changed = new Promise<void>((resolve) => (wake = resolve));
      for await (const chunk of readLog(path, at)) {
        at += chunk.length;
        yield chunk;
      }
      if (last) return;
      if (!end.aborted) await changed;
    }
  } finally {
    watcher.close();
  }
}
