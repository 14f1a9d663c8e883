import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HelperClient } from './helper-client.ts';
import { canRunHelper, HelperDaemon, slow, until } from './testing/helper-daemon.ts';

describe.skipIf(!canRunHelper)('a sandbox', { timeout: 60_000 * slow }, () => {
  let daemon: HelperDaemon;
  let client: HelperClient;
  let sandbox: string;
  let agent: { uid: number; gid: number };

  beforeAll(async () => {
    daemon = await HelperDaemon.start();
    client = await daemon.client();
    const made = await client.create({
      tag: 'one',
      level: 'enhanced',
      limits: { pids_max: '200', memory_max: '268435456' },
    });
    sandbox = made.sandbox;
    agent = { uid: made.agentUid, gid: made.agentGid };
  }, 60_000 * slow);
  afterAll(() => daemon?.dispose());

  const run = async (script: string, more = {}): Promise<string> =>
    (await daemon.run(client, sandbox, script, more)).output;

  test('its agent is nobody of the host, without capabilities, with no_new_privs and seccomp', async () => {
    const output = await run('id -u; id -G; grep -E "^(Cap|NoNewPrivs|Seccomp:|Groups)" /proc/self/status');
    expect(agent.uid).toBeGreaterThanOrEqual(2_000_000);
    expect(output).toContain(`${agent.uid}\n${agent.gid}\n`);
    expect(output.match(/Cap\w+:\t0{16}\n/g)).toHaveLength(5);
    expect(output).toContain('NoNewPrivs:\t1');
    expect(output).toContain('Seccomp:\t2');
  });

  test('a job has descriptors 0, 1 and 2 and no other', async () => {
    expect((await run('ls /proc/self/fd')).trim().split('\n')).toEqual(['0', '1', '2', '3']); // 3 is ls's own
  });

  test('processes of the host are not there', async () => {
    const output = await run(`ls -d /proc/[0-9]*; kill -0 ${process.pid}`);
    expect(output.split('\n').filter((line) => line.startsWith('/proc/')).length).toBeLessThan(6);
    expect(output).toContain('No such process');
  });

  test('no namespace of any kind can be made, nor a mount', async () => {
    const flags = ['U', 'm', 'p', 'n', 'i', 'u', 'C', 'T'];
    const output = await run(
      `${flags.map((f) => `unshare -${f} true; echo ${f} $?`).join(';')}; mount -t tmpfs x /tmp; echo mount $?`,
    );
    for (const f of flags) expect(output).toContain(`${f} 1\n`);
    expect(output).not.toContain('mount 0');
  });

  test('an agent cannot change the limits of its init, which would be deaf then', async () => {
    const output = await run(
      'prlimit --pid 1 --nofile=3:3; echo init $?; prlimit --pid $$ --nofile=64:64; echo own $?',
    );
    expect(output).toContain('init 1\n');
    expect(output).toContain('own 0\n');
    expect(await run('echo heard')).toBe('heard\n');
  });

  test('no set-uid program gives anything', async () => {
    expect(await run('su -c id root </dev/null; /usr/bin/passwd -S root; echo end')).not.toContain('uid=0');
  });

  test('/run, /tmp and /var/tmp are private and empty, the helper cannot be reached', async () => {
    const output = await run(
      `ls -A /run /tmp /var/tmp; test -e ${daemon.socket} || echo absent; touch /tmp/x /var/tmp/x && echo written`,
    );
    expect(output).toBe('/run:\n\n/tmp:\n\n/var/tmp:\nabsent\nwritten\n');
  });

  test('/proc and /sys tell nothing of the machine and change nothing', async () => {
    const output = await run(
      'for f in kcore keys kallsyms timer_list; do test -s /proc/$f && echo $f; done; cat /proc/keys; ls /sys /sys/class;' +
        '(echo x > /proc/sys/kernel/hostname); (echo b > /proc/sysrq-trigger); ls /sys/devices/system/cpu/online; (echo x > /sys/x)',
    );
    expect(output).not.toMatch(/kcore|kallsyms|timer_list/);
    expect(output).toContain('devices\nfs\n');
    expect(output).toContain('/sys/devices/system/cpu/online');
    expect(output.match(/Read-only file system|Permission denied/g)?.length, output).toBeGreaterThanOrEqual(2);
  });

  test('devices are the harmless six, and no other opens', async () => {
    const output = await run(
      'find /dev -type c | sort; find /dev -type b; mknod /tmp/vda b 254 0; echo mknod $?; echo hi > /dev/null && head -c1 /dev/zero | wc -c',
    );
    expect(output).toMatch(
      /^\/dev\/full\n\/dev\/null\n\/dev\/pts\/ptmx\n\/dev\/random\n\/dev\/tty\n\/dev\/urandom\n\/dev\/zero\n/,
    );
    expect(output).toContain('mknod 1\n1\n');
  });

  test('limits are read where programs look for them', async () => {
    const file =
      client.hello.mode === 'v2' ? '/sys/fs/cgroup/memory.max' : '/sys/fs/cgroup/memory/memory.limit_in_bytes';
    const output = await run(
      `cat ${file}; (echo 1 > ${file}); (echo $$ > $(dirname ${file})/cgroup.procs); grep -c ':/$' /proc/self/cgroup`,
    );
    expect(output).toMatch(/^268435456\n/);
    expect(output.match(/Read-only|Permission/g)).toHaveLength(2);
  });

  test('mounts: ro, rw and tmpfs over a hidden parent', async () => {
    const work = join(daemon.dir, 'project', 'work');
    await mkdir(work, { recursive: true });
    await writeFile(join(daemon.dir, 'project', 'secret'), 'secret');
    await writeFile(join(work, 'file'), 'content\n');
    await chown(work, agent.uid, agent.gid);
    const right = await run(
      'cat file; echo a > new; ls -A /opt /opt/t; (echo b > /opt/ro/new); cat /opt/ro/file; df --output=size /mnt | tail -1',
      {
        cwd: '/opt/t/work',
        mounts: [
          { kind: 'tmpfs', dst: '/mnt', sizeBytes: 1 << 20 },
          { kind: 'tmpfs', dst: '/opt' },
          { kind: 'rw', src: work, dst: '/opt/t/work' },
          { kind: 'ro', src: work, dst: '/opt/ro' },
          { kind: 'ro', src: join(work, 'file'), dst: '/opt/single' },
        ],
      },
    );
    expect(right).toContain('content\n/opt:\nro\nsingle\nt\n\n/opt/t:\nwork\n');
    expect(right).toContain('Read-only file system');
    expect(right).toContain('1024');
    expect(await readFile(join(work, 'new'), 'utf8')).toBe('a\n');
  });

  test('a mount is refused where it would lead out or lie', async () => {
    const evil = join(daemon.dir, 'evil');
    await mkdir(evil);
    await chown(evil, agent.uid, agent.gid);
    await symlink('/proc/1', join(evil, 'proc'));
    const refused = async (mounts: object[]): Promise<string> =>
      daemon.run(client, sandbox, 'true', { mounts: mounts as never }).then(
        () => 'accepted',
        (error) => `${error.code}: ${error.message}`,
      );
    expect(await refused([{ kind: 'ro', src: join(daemon.dir, 'sock'), dst: '/mnt' }])).toMatch(/bad_path.*socket/);
    expect(await refused([{ kind: 'ro', src: daemon.dir, dst: '/mnt' }])).toMatch(/bad_path.*socket/);
    expect(await refused([{ kind: 'ro', src: '/proc/self/root/etc', dst: '/mnt' }])).toMatch(/bad_path/);
    expect(await refused([{ kind: 'ro', src: '/proc', dst: '/mnt' }])).toMatch(/bad_path.*kernel/);
    expect(await refused([{ kind: 'ro', src: '/dev/null', dst: '/tmp/null' }])).toMatch(/bad_path/);
    expect(await refused([{ kind: 'ro', src: evil, dst: '/proc/sys' }])).toMatch(/bad_path/);
    expect(
      await refused([
        { kind: 'rw', src: evil, dst: '/mnt' },
        { kind: 'tmpfs', dst: '/mnt/proc' },
      ]),
    ).toMatch(/bad_path/);
    expect(await refused([{ kind: 'ro', src: evil, dst: '/nowhere/at/all' }])).toMatch(/bad_path.*would it be made/);
    expect(await refused([{ kind: 'ro', src: evil, dst: '/mnt/../etc' }])).toMatch(/bad_path/);
    expect(await refused([{ kind: 'ro', src: evil, dst: '/etc/passwd' }])).toMatch(/bad_path.*directory/);
    expect(await refused([{ kind: 'ro', src: '/nonexistent', dst: '/mnt' }])).toMatch(/bad_path.*No such file/);
  });

  test('seccomp: what is refused and what must work', async () => {
    const program = `
use strict; my ($tiocsti, $sti32) = (0x5412, 0x100005412);
sub try { my ($name, @call) = @_; $! = 0; my $r = syscall($call[0], @call[1..$#call]); print "$name ", ($r < 0 ? 0+$! : "ok"), "\\n"; }
try("keyctl", 250, 0, -3, 0); try("bpf", 321, 0, 0, 0); try("userfaultfd", 323, 0); try("io_uring", 425, 1, 0);
try("perf", 298, 0, 0, -1, -1, 0); try("clone3", 435, 0, 0); try("setns", 308, 0, 0); try("handle", 304, -100, 0, 0);
try("tiocsti", 16, 0, $tiocsti, 0); try("tiocsti64", 16, 0, $sti32, 0);
try("vsock", 41, 40, 1, 0); try("alg", 41, 38, 5, 0); try("packet", 41, 17, 3, 0); try("packet64", 41, 17 + (1<<32), 3, 0); try("x25", 41, 9, 5, 0);
try("x25high", 41, 9 + (1<<32), 5, 0);
try("inet", 41, 2, 1, 0); try("unix", 41, 1, 1, 0); try("netlink", 41, 16, 3, 0); try("newuser", 56, 0x10000011, 0, 0, 0, 0);`;
    const output = await run(`perl -e '${program}'`);
    const got = Object.fromEntries(
      output
        .trim()
        .split('\n')
        .map((line) => line.split(' ') as [string, string]),
    );
    expect(got).toEqual({
      keyctl: '1',
      bpf: '1',
      userfaultfd: '1',
      io_uring: '1',
      perf: '1',
      clone3: '38',
      setns: '1',
      handle: '1',
      tiocsti: '1',
      tiocsti64: '1',
      vsock: '97',
      alg: '97',
      packet: '97',
      packet64: '97',
      x25: '97',
      x25high: '97',
      inet: 'ok',
      unix: 'ok',
      netlink: 'ok',
      newuser: '1',
    });
  });

  test('common programs run', async () => {
    const output = await run(
      'git --version; node -e "console.log(6*7, require(\'os\').availableParallelism())"; perl -e "print 1+1"; nproc',
      { tmpSize: 1 << 24 },
    );
    expect(output).toMatch(/git version/);
    expect(output).toMatch(/42 \d+\n2\d/);
  });

  test('an abstract socket of the host cannot be reached', async () => {
    if (!client.hello.caps.includes('abstract_sockets')) return;
    const address = `pack("S a*", 1, "\\0drover-test-${process.pid}")`;
    const server = spawn('perl', [
      '-MSocket',
      '-e',
      `socket(S,AF_UNIX,SOCK_STREAM,0); bind(S, ${address}); listen(S,9); $|=1; print "up"; sleep 60`,
    ]);
    await once(server.stdout, 'data');
    const connect = `perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0); print connect(S, ${address}) ? "in" : "out: $!"'`;
    const output = await run(connect);
    server.kill('SIGKILL');
    expect(output).toBe('out: Operation not permitted');
  });

  test('a second spawn in a living sandbox is busy, and legal after its end', async () => {
    const dir = await daemon.spawn(client, sandbox, 'sleep 30');
    await expect(daemon.run(client, sandbox, 'true')).rejects.toMatchObject({ code: 'busy' });
    await client.kill(sandbox, 'all');
    expect(await run('echo again')).toBe('again\n');
    await until(() => existsSync(join(dir, 'exit')));
    expect(await readFile(join(dir, 'exit'), 'utf8')).toContain('init_lost');
  });
});
