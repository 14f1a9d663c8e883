import { missing, ok, warn } from './finding.ts';
import type { Check, Readers } from './types.ts';
import { atLeast } from './versions.ts';

const NEWER_KERNEL = 'Use a newer kernel: Debian 12 and Ubuntu 22.04 have one.';

/** A system call that came with a kernel version. */
function since(name: string, version: [number, number], cost: string): Check {
  return {
    name,
    run({ kernelRelease }) {
      const wanted = version.join('.');
      if (atLeast(kernelRelease, ...version)) return ok(name, `in kernels from ${wanted} on`);
      return missing(name, `not in ${kernelRelease}: it came with ${wanted}`, cost, NEWER_KERNEL);
    },
  };
}

const kernel: Check = {
  name: 'kernel',
  run({ platform, kernelRelease }) {
    const found = `${platform} ${kernelRelease}`;
    if (platform !== 'linux') {
      return missing('kernel', found, 'Only level basic, and that is not tested here.', 'Use Linux.');
    }
    if (atLeast(kernelRelease, 5, 14)) return ok('kernel', found);
    return warn('kernel', found, 'Trees of processes are killed one by one, not by cgroup.kill.', NEWER_KERNEL);
  },
};

const userNamespaces: Check = {
  name: 'user namespaces',
  run(facts) {
    const most = Number(facts.readFile('/proc/sys/user/max_user_namespaces') ?? 0);
    const cost = 'An ordinary user cannot have sandboxes without a root helper.';
    if (most === 0) {
      return warn('user namespaces', 'switched off', cost, 'sudo sysctl user.max_user_namespaces=15000');
    }
    const restricted = restriction(facts);
    if (restricted)
      return warn('user namespaces', `refused to ordinary users by ${restricted}`, cost, `sudo sysctl ${restricted}`);
    return ok('user namespaces', `${most} at most`);
  },
};

/** The sysctl that refuses them to ordinary users (as it would have to be set), or undefined. */
function restriction({ readFile }: Readers): string | undefined {
  const off = (name: string, value: string) => readFile(`/proc/sys/${name.replaceAll('.', '/')}`)?.trim() === value;
  if (off('kernel.unprivileged_userns_clone', '0')) return 'kernel.unprivileged_userns_clone=1';
  if (off('kernel.apparmor_restrict_unprivileged_userns', '1')) return 'kernel.apparmor_restrict_unprivileged_userns=0';
  return undefined;
}

const overlay: Check = {
  name: 'overlayfs',
  run({ readFile }) {
    if (/\boverlay$/m.test(readFile('/proc/filesystems') ?? '')) return ok('overlayfs', 'in the kernel');
    const cost = 'Worktrees are checked out in full, which takes longer in large repositories.';
    return warn('overlayfs', 'not loaded', cost, 'sudo modprobe overlay');
  },
};

const seccomp: Check = {
  name: 'seccomp',
  run({ readFile }) {
    const actions = readFile('/proc/sys/kernel/seccomp/actions_avail')?.trim();
    if (actions?.includes('errno')) return ok('seccomp', 'with filters');
    return missing('seccomp', 'no filters', 'No level above basic.', 'Use a kernel with CONFIG_SECCOMP_FILTER.');
  },
};

const pressure: Check = {
  name: 'pressure (PSI)',
  run({ readFile }) {
    if (readFile('/proc/pressure/memory') !== null) return ok('pressure (PSI)', 'for CPU, memory and I/O');
    const cost = 'The scheduler sees load and free memory only, not what waits for them.';
    return warn('pressure (PSI)', 'not there', cost, 'Boot with psi=1.');
  },
};

/** What the kernel must have. */
export const KERNEL_CHECKS: readonly Check[] = [
  kernel,
  since('pidfd', [5, 4], 'Processes cannot be named without a race: no sandboxes.'),
  since('openat2', [5, 6], 'Paths cannot be opened safely for a client: no helper.'),
  userNamespaces,
  overlay,
  seccomp,
  pressure,
];
