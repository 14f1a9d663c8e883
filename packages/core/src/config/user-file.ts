import { readFile } from 'node:fs/promises';
import type { SourceText } from './source.ts';

/** The user's configuration file, or null when there is none. */
export async function readUserConfig(file: string): Promise<SourceText | null> {
  try {
    return { file, text: await readFile(file, 'utf8') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
