import { lchown, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Gives a directory and all below it to `identity`, links themselves and not what they point to. Does nothing where that is
 * this process's own uid and gid already: only a root engine, whose agents have uids of their own, has work here.
 */
export async function giveTree(root: string, identity: { uid: number; gid: number }): Promise<void> {
  if (identity.uid === process.getuid!()) return;
  await lchown(root, identity.uid, identity.gid);
  for (const entry of await readdir(root, { withFileTypes: true })) {
    const path = join(root, entry.name);
    if (entry.isDirectory()) await giveTree(path, identity);
    else await lchown(path, identity.uid, identity.gid);
  }
}
