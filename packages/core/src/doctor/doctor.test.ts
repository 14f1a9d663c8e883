import { expect, test } from 'vitest';
import { cgroupMode, type Finding, type Readers, realReaders, runDoctor } from './index.ts';

const HYBRID = `tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0
cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
`;
const UNIFIED = 'cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n';

const FILES: Record<string, string> = {
  '/proc/self/mounts': UNIFIED,
  '/proc/self/cgroup': '0::/user.slice\n',
  '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory hugetlb pids\n',
  '/proc/filesystems': 'nodev\ttmpfs\nnodev\toverlay\n',
  '/proc/sys/kernel/seccomp/actions_avail': 'kill_process trap errno log allow\n',
  '/proc/pressure/memory': 'some avg10=0.00\n',
  '/proc/sys/user/max_user_namespaces': '15000\n',
  '/proc/sys/fs/inotify/max_user_watches': '1048576\n',
  '/proc/sys/fs/inotify/max_user_instances': '1024\n',
  '/proc/self/limits':
    'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 1048576              files\n',
};

/** A machine where all is well, but for `change`. */
function machine(change: Partial<Readers> = {}, files: Record<string, string | null> = {}): Readers {
  const all = { ...FILES, ...files };
  return {
    platform: 'linux',
    kernelRelease: '6.1.0-18-amd64',
    nodeVersion: 'v22.1.0',
    uid: 1000,
    stateDir: '/home/x/.local/state/drover',
    readFile: (path) => all[path] ?? null,
    exists: (path) => path === '/sys/fs/cgroup/user.slice/cgroup.kill',
    run: async () => 'git version 2.39.5\n',
    fileSystem: () => ({ freeBytes: 1e12, freeInodes: 1e7, totalInodes: 1e8 }),
    helper: async () => ({ server: 'drover-helper 0.1.0', mode: 'v2', capabilities: ['create'], missing: [] }),
    keeper: async () => '/usr/libexec/drover/drover-keeper',
    agents: async () => [
      { name: 'claude', title: 'Claude Code', detection: { path: '/c', version: '2.1', loggedIn: true, detail: '' } },
    ],
    ...change,
  };
}

const find = (findings: Finding[], name: string) => findings.find((finding) => finding.name === name);
const notOk = (findings: Finding[]) => findings.filter((finding) => finding.status !== 'ok').map((f) => f.name);

test('a good machine has nothing to say but ok', async () => {
  expect(notOk(await runDoctor(machine()))).toEqual([]);
});

test('whatever is not ok says what it costs and how to get it', async () => {
  const poor = machine(
    {
      kernelRelease: '4.19.0',
      nodeVersion: 'v18.0.0',
      run: async () => null,
      exists: () => false,
      fileSystem: () => ({ freeBytes: 1e6, freeInodes: 10, totalInodes: 100 }),
      helper: async () => ({ unreachable: 'nothing answers at /run/drover/helper.sock' }),
      keeper: async () => null,
      agents: async () => [{ name: 'claude', title: 'Claude Code', detection: null }],
    },
    Object.fromEntries(Object.keys(FILES).map((path) => [path, null])),
  );
  const findings = await runDoctor(poor);
  const bad = findings.filter((finding) => finding.status !== 'ok');
  expect(bad.length).toBeGreaterThan(14);
  for (const finding of bad) {
    expect(finding.cost, finding.name).not.toBe('');
    expect(finding.fix, finding.name).not.toBe('');
  }
});

test('cgroups: unified, hybrid, v1 alone, none', async () => {
  const mode = (mounts: string | null) => cgroupMode(machine({}, { '/proc/self/mounts': mounts }));
  expect(mode(UNIFIED)).toBe('v2');
  expect(mode(HYBRID)).toBe('hybrid');
  expect(mode(HYBRID.replace(/cgroup2.*\n/, ''))).toBe('v1');
  expect(mode(null)).toBe('none');
  const hybrid = await runDoctor(machine({}, { '/proc/self/mounts': HYBRID }));
  expect(notOk(hybrid)).toEqual([]);
});

test('a lacking controller is named by what it limits', async () => {
  const findings = await runDoctor(machine({}, { '/sys/fs/cgroup/cgroup.controllers': 'cpu cpuset memory pids' }));
  expect(find(findings, 'cgroup controllers')).toMatchObject({ status: 'warn', cost: 'Not limited: disk bandwidth.' });
});

test('git before merge-tree --write-tree is missing, not a warning', async () => {
  const findings = await runDoctor(machine({ run: async () => 'git version 2.34.1' }));
  expect(find(findings, 'git')?.status).toBe('missing');
});

test('what the helper misses is shown with its reasons', async () => {
  const helper = async () => ({
    server: 'drover-helper 0.1.0',
    mode: 'hybrid',
    capabilities: ['create'],
    missing: [{ capability: 'io', reason: 'no blkio controller' }],
  });
  expect(find(await runDoctor(machine({ helper })), 'helper')?.cost).toContain('io (no blkio controller)');
});

test('ubuntu’s refusal of user namespaces is named with its sysctl', async () => {
  const findings = await runDoctor(machine({}, { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1\n' }));
  expect(find(findings, 'user namespaces')?.fix).toContain('apparmor_restrict_unprivileged_userns=0');
});

test('an agent that is not logged in warns', async () => {
  const detection = { path: '/c', version: '2.1', loggedIn: false, detail: 'no credentials' };
  const agents = async () => [{ name: 'claude', title: 'Claude Code', detection }];
  expect(find(await runDoctor(machine({ agents })), 'claude')).toMatchObject({ status: 'warn' });
});

test('the real machine can be read', async () => {
  const readers = realReaders(process.env, {
    helper: async () => ({ unreachable: 'not asked' }),
    agents: async () => [],
  });
  const findings = await runDoctor(readers);
  expect(find(findings, 'node')?.status).toBe('ok');
  expect(find(findings, 'kernel')?.found).toContain('linux');
});
