import type { Mount } from './types.ts';

/** What a sandbox shows of the host's own mounts, with those below; see "Base of an `enhanced` sandbox" in docs/helper-protocol.md. */
const SHOWN_WITH_BELOW = ['/usr', '/etc', '/opt', '/nix', '/srv'];
/** Shown alone, or the sandbox's own: nothing is put over them. */
const SHOWN_ALONE = ['/', '/var', '/tmp', '/var/tmp', '/run', '/dev', '/proc', '/sys'];

/**
 * Empty file systems in the place of the host's other mounts (a `/home` of its own, a data disk) below which something is
 * mounted for the agent. A sandbox does not show those: their mount point is an empty directory of root's there, in which
 * the way to a home, a repository or a worktree could not be made.
 */
export function standIns(mounts: readonly Mount[], points: readonly string[]): Mount[] {
  const hidden = points.filter((point) => !isShown(point)).sort((a, b) => a.length - b.length);
  const places = new Set<string>();
  for (const { dst } of mounts) {
    const point = hidden.find((each) => dst.startsWith(`${each}/`));
    if (point === undefined || isMade(mounts, point)) continue;
    places.add(point);
  }
  return [...places].map((dst) => ({ kind: 'tmpfs', dst }));
}

function isShown(point: string): boolean {
  const below = (dirs: readonly string[]) => dirs.some((dir) => point.startsWith(`${dir}/`));
  return (
    SHOWN_ALONE.includes(point) ||
    SHOWN_WITH_BELOW.includes(point) ||
    below(SHOWN_WITH_BELOW) ||
    below(['/tmp', '/var/tmp', '/run', '/dev', '/proc', '/sys'])
  );
}

/** Something of the list stands there already, or above it, where missing directories are made. */
function isMade(mounts: readonly Mount[], point: string): boolean {
  return mounts.some(({ kind, dst }) => kind !== 'ro' && (dst === point || point.startsWith(`${dst}/`)));
}
