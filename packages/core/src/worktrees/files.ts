import { lstat, readFile } from 'node:fs/promises';

/** True when something is there, a dangling link included. */
export async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
      throw error;
    },
  );
}

/** The bytes of a file, or null when there is none. */
export async function readIfThere(path: string): Promise<Buffer | null> {
  return await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
}

/** The one line of a small file of git's, without its newline; null when there is no such file. */
export async function readLine(path: string): Promise<string | null> {
  const bytes = await readIfThere(path);
  return bytes === null ? null : bytes.toString('utf8').replace(/\n$/, '');
}
