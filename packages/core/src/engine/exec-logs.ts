import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Output files of an attempt's setup and verify commands, in the order they ran. */
export async function listExecLogs(dir: string): Promise<{ name: string; path: string }[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [] as string[];
    throw error;
  });
  return names.sort().map((name) => ({ name: name.replace(/\.log$/, ''), path: join(dir, name) }));
}
