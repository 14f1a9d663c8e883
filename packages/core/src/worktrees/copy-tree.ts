import { constants, copyFile, lstat, mkdir, readdir, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Copies a small directory of the user's. Links are copied as links and never followed: what they lead to is not meant for
 * the agent. Sockets, pipes and devices are left out. Nothing happens where `from` does not exist.
 */
export async function copyTree(
  from: string,
  to: string,
  wanted: (name: string) => boolean = () => true,
): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch(() => null);
  if (entries === null) return;
  await mkdir(to, { recursive: true });
  for (const entry of entries.filter(({ name }) => wanted(name))) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyTree(source, target, wanted);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else if (entry.isFile()) await copyFile(source, target, constants.COPYFILE_EXCL);
  }
}

/** Copies one regular file where there is one. */
export async function copyRegular(from: string, to: string): Promise<void> {
  const found = await lstat(from).catch(() => null);
  if (found?.isFile()) await copyFile(from, to);
}
