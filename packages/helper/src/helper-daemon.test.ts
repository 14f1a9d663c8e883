import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { helperBinary } from './binaries.ts';
import { HelperClient } from './helper-client.ts';
import { canRunHelper, HelperDaemon, slow, until } from './testing/helper-daemon.ts';

async function answers(socket: string): Promise<boolean> {
  try {
    (await HelperClient.connect(socket)).close();
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!canRunHelper)('the daemon', { timeout: 120_000 * slow }, () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'drover-daemon-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));

  const flags = (): string[] => ['--state-dir', join(dir, 'state'), '--cgroup', `drover-t${process.pid}-d`];
  const exitOf = async (child: ChildProcess): Promise<[number | null, string]> => {
    let errors = '';
    child.stderr!.on('data', (bytes) => {
      errors += String(bytes);
    });
    const [code] = await once(child, 'exit');
    return [code as number | null, errors];
  };

  test('takes a socket from systemd, hides it from agents, and ends when it is idle', async () => {
    const socket = join(dir, 'activated.sock');
    const activate = `use Socket; $^F = 9; socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, pack_sockaddr_un($ARGV[0])) or die; listen($s, 9);
      require POSIX; POSIX::dup2(fileno($s), 3) if fileno($s) != 3; $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDS} = 1; shift; exec @ARGV;`;
    const child = spawn('perl', ['-e', activate, socket, helperBinary(), ...flags(), '--idle-exit', '1'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = exitOf(child);
    await until(() => answers(socket));
    const client = await HelperClient.connect(socket);
    const made = await client.create({ tag: 'a', level: 'enhanced', limits: {} });
    const mounts = [{ kind: 'ro' as const, src: dir, dst: '/mnt' }];
    const spy = client.spawn({ sandbox: made.sandbox, dir, cwd: '/', argv: ['/bin/true'], env: {}, mounts });
    await expect(spy).rejects.toMatchObject({ code: 'bad_path', message: expect.stringContaining('socket') });
    await client.remove(made.sandbox);
    client.close();
    expect(await ended).toEqual([0, '']);
    expect(existsSync(socket)).toBe(true); // systemd's, not ours
  });

  test.each<[string, string[], RegExp]>([
    ['a flag that there is not', ['--verbose', '1'], /no option 'verbose'/],
    ['uid 0 for agents', ['--agent-uids', '0-10'], /range without 0/],
    ['nobody for agents', ['--agent-uids', '60000-70000'], /range without 0/],
    ['a group path that leads out', ['--cgroup', '../x'], /plain relative path/],
    ['a group that there is not', ['--group', 'no-such-group'], /no group/],
  ])('refuses %s', async (_name, words, message) => {
    const child = spawn(helperBinary(), ['--socket', join(dir, 's', 'helper.sock'), ...flags(), ...words], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [code, errors] = await exitOf(child);
    expect(code).toBeGreaterThan(0);
    expect(errors).toMatch(message);
  });

  test('refuses a configuration or a directory that somebody else can write', async () => {
    const config = join(dir, 'helper.conf');
    await writeFile(config, 'allow-uid = 1000\n', { mode: 0o666 });
    await import('node:fs/promises').then((fs) => fs.chmod(config, 0o666));
    const run = (...words: string[]): Promise<[number | null, string]> =>
      exitOf(spawn(helperBinary(), [...flags(), ...words], { stdio: ['ignore', 'ignore', 'pipe'] }));
    expect((await run('--socket', join(dir, 's', 'x.sock'), '--config', config))[1]).toContain('only root can write');
    await mkdir(join(dir, 'open'));
    await import('node:fs/promises').then((fs) => fs.chmod(join(dir, 'open'), 0o777));
    expect((await run('--socket', join(dir, 'open', 'x.sock')))[1]).toContain('only root can write');
  });

  test('reads its configuration', async () => {
    const config = join(dir, 'helper.conf');
    await writeFile(config, '# who\nallow-uid = 61234\n\nmax_sandboxes=1\nagent-uids=3000000-3000001\n', {
      mode: 0o644,
    });
    const daemon = await HelperDaemon.start('--config', config);
    try {
      const client = await daemon.client(61_234);
      expect(client.hello).toMatchObject({ uid: 61_234, agentUid: 'same', maxSandboxes: 1 });
      expect((await (await daemon.client()).create({ tag: 'a', level: 'enhanced', limits: {} })).agentUid).toBe(
        3_000_000,
      );
    } finally {
      await daemon.dispose();
    }
  });

  test('a path that never answers holds nobody up but its client, and him for a bounded time', async () => {
    // A FUSE file system whose server says nothing.
    const point = join(dir, 'hung');
    await mkdir(point);
    const mount = `open(my $f, "+<", "/dev/fuse") or exit 3; my $o = "fd=" . fileno($f) . ",rootmode=40000,user_id=0,group_id=0,allow_other";
      my ($s, $t) = ("hung", "fuse"); syscall(165, $s, $ARGV[0], $t, 6, $o) == 0 or exit 4; $| = 1; print "up"; sleep 300;`;
    const server = spawn('perl', ['-e', mount, point], { stdio: ['ignore', 'pipe', 'inherit'] });
    const up = await Promise.race([once(server.stdout!, 'data'), once(server, 'exit')]);
    if (typeof up[0] === 'number') return; // no FUSE here
    const daemon = await HelperDaemon.start();
    try {
      const client = await daemon.client();
      const made = await client.create({ tag: 'a', level: 'enhanced', limits: {} });
      const other = await client.create({ tag: 'b', level: 'enhanced', limits: {} });
      const start = performance.now();
      const hung = daemon
        .run(client, made.sandbox, 'true', { mounts: [{ kind: 'ro', src: join(point, 'x'), dst: '/mnt' }] })
        .catch((error) => error.code);
      const probe = client
        .create({ tag: 'c', level: 'enhanced', limits: {}, ioPath: join(point, 'y') })
        .catch((error) => error.code);
      expect((await daemon.run(client, other.sandbox, 'echo served')).output).toBe('served\n');
      expect(performance.now() - start).toBeLessThan(2_000 * slow);
      expect(await hung).toBe('timeout');
      expect(await probe).toBe('timeout');
      expect(performance.now() - start).toBeLessThan(35_000 * slow);
      expect((await daemon.run(client, made.sandbox, 'echo again')).output).toBe('again\n');
    } finally {
      await daemon.dispose();
      spawn('umount', ['-l', point]);
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
  });

  test('on v2 it moves out of its own group when it was started there', async () => {
    const daemon = await HelperDaemon.start();
    const mode = (await daemon.client()).hello.mode;
    await daemon.dispose();
    if (mode !== 'v2') return;
    const name = `drover-t${process.pid}-own`;
    const group = `/sys/fs/cgroup/${name}`;
    const socket = join(dir, 's', 'helper.sock');
    const script = `mkdir ${group} && echo $$ > ${group}/cgroup.procs && exec "$@"`;
    const args = ['--socket', socket, '--state-dir', join(dir, 'state'), '--cgroup', name];
    const child = spawn('sh', ['-c', script, 'sh', helperBinary(), ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = exitOf(child);
    await until(() => answers(socket));
    const client = await HelperClient.connect(socket);
    const made = await client.create({ tag: 'a', level: 'enhanced', limits: { memory_max: '67108864' } });
    expect(made.enforced).toEqual(['memory_max']);
    await client.remove(made.sandbox);
    await client.shutdown();
    expect(await ended).toEqual([0, '']);
    await rm(`${group}/helper`, { recursive: false }).catch(() => undefined);
    spawn('rmdir', [`${group}/helper`, group]);
  });
});
