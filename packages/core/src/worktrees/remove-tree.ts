import { DroverError } from '../shared/errors.ts';
import { mountPoints } from '../shared/mount-points.ts';
import { exists } from './files.ts';
import { requireTool, runTool } from './tool.ts';

/**
 * Deletes a directory tree that an agent may have written.
 *
 * `rm -r` walks by directory descriptors (openat with O_NOFOLLOW), so a symbolic link is removed and never followed, also
 * when one takes a directory's place while it runs. Node's own `rm` works by path, which a root engine must not do here.
 * It refuses where something is mounted inside: deleting would go on in what is mounted.
 */
export async function removeTree(path: string): Promise<void> {
  if (!(await exists(path))) return;
  await refuseMounts(path);
  if ((await runTool(['rm', '-rf', '--one-file-system', '--', path])).ok) return;
  // Directories without write permission (a module cache, say) stop rm of a user who is not root.
  await runTool(['find', path, '-xdev', '-type', 'd', '!', '-perm', '-0700', '-exec', 'chmod', 'u+rwx', '{}', ';']);
  await requireTool(['rm', '-rf', '--one-file-system', '--', path], 'remove_failed', `${path} could not be deleted`);
}

/** Rejects with `worktree_busy` when a file system is mounted at this path or below it. */
export async function refuseMounts(path: string): Promise<void> {
  const inside = (await mountPoints()).find((at) => at === path || at.startsWith(`${path}/`));
  if (inside === undefined) return;
  throw new DroverError(
    'worktree_busy',
    `${inside} is still mounted`,
    'A sandbox or a process of yours still uses it; end it, then try again.',
  );
}
