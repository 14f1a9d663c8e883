import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, truncateSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeRecords, KeeperClient, readExitRecord } from './index.ts';
import { encodeFrame } from './keeper-frames.ts';
import {
  collect,
  cpuTicks,
  execSpec,
  keeperWorld,
  limitKb,
  node,
  rawConnection,
  rssKb,
  sh,
  sleep,
  startAgent,
} from './testing/keeper-world.ts';

const world = keeperWorld();
const inDir = (name: string): string => join(world.dir, name);

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

describe('the log', () => {
  it('holds 100 MB byte for byte, by a pipe', async () => {
    await startAgent(world, sh(`head -c 100000000 /dev/urandom | tee ${inDir('copy')}`));
    const exit = await KeeperClient.watch(world.dir);
    expect(exit.stdoutBytes).toBe(100_000_000);
    expect(await sha256(inDir('stdout.log'))).toBe(await sha256(inDir('copy')));
    expect(rssKb(world.pids[0]!)).toBeLessThan(limitKb(2048));
  });

  it('holds 100 MB byte for byte, by a terminal', async () => {
    await startAgent(world, sh(`stty raw -echo; head -c 100000000 /dev/urandom | tee ${inDir('copy')}`), { tty: true });
    const exit = await KeeperClient.watch(world.dir);
    expect(exit.stdoutBytes).toBe(100_000_000);
    expect(await sha256(inDir('stdout.log'))).toBe(await sha256(inDir('copy')));
  });

  it('keeps stdout and stderr apart when they are split', async () => {
    await startAgent(world, sh('head -c 5000000 /dev/urandom | tee /proc/self/fd/2; echo only >&2'), {
      stderr: 'split',
    });
    const exit = await KeeperClient.watch(world.dir);
    const [out, err] = await Promise.all([readFile(inDir('stdout.log')), readFile(inDir('stderr.log'))]);
    expect([exit.stdoutBytes, exit.stderrBytes]).toEqual([5_000_000, 5_000_005]);
    expect(err.equals(Buffer.concat([out, Buffer.from('only\n')]))).toBe(true);
  });

  it('keeps the order of stdout and stderr when they are merged', async () => {
    await startAgent(world, sh('for i in 1 2 3; do echo o$i; echo e$i >&2; done'));
    await KeeperClient.watch(world.dir);
    expect(await readFile(inDir('stdout.log'), 'utf8')).toBe('o1\ne1\no2\ne2\no3\ne3\n');
  });

  it('ends at its limit, and what is past it is counted while the agent goes on', async () => {
    await startAgent(world, sh('head -c 3000000 /dev/zero; exit 6'), { logMax: 1_000_000 });
    const exit = await KeeperClient.watch(world.dir);
    expect(exit).toMatchObject({ code: 6, stdoutBytes: 1_000_000, droppedBytes: 2_000_000 });
    expect((await readFile(inDir('stdout.log'))).length).toBe(1_000_000);
  });
});

describe.runIf(process.getuid?.() === 0)('a full disk', () => {
  const mountTmpfs = (size: string): string => {
    mkdirSync(inDir('small'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=777`, 'drover-test', inDir('small')]);
    return inDir('small');
  };

  it('makes the agent wait, shows it, and loses nothing', async () => {
    const dir = mountTmpfs('1m');
    try {
      await startAgent(world, sh('head -c 3000000 /dev/zero | tr "\\0" x'), { dir });
      await expect.poll(async () => (await KeeperClient.status(dir)).stalled).toBe('disk_full');
      const before = cpuTicks(world.pids[0]!);
      await sleep(500);
      expect(cpuTicks(world.pids[0]!) - before).toBeLessThan(5);
      expect(await readExitRecord(dir)).toBe(null);
      execFileSync('mount', ['-o', 'remount,size=8m', dir]);
      const exit = await KeeperClient.watch(dir);
      expect(exit).toMatchObject({ code: 0, stdoutBytes: 3_000_000, droppedBytes: 0 });
      expect(exit.stalledMs).toBeGreaterThan(400);
      expect((await readFile(join(dir, 'stdout.log'))).equals(Buffer.alloc(3_000_000, 'x'))).toBe(true);
    } finally {
      await KeeperClient.stop(dir, { graceMs: 0 }).catch(() => undefined);
      await KeeperClient.end(dir).catch(() => undefined);
      execFileSync('umount', ['-l', dir]);
    }
  });

  it('of a stopped agent keeps what was written until there is room for it', async () => {
    const dir = mountTmpfs('1m');
    try {
      await startAgent(world, sh('head -c 3000000 /dev/zero'), { dir });
      await expect.poll(async () => (await KeeperClient.status(dir)).stalled).toBe('disk_full');
      await KeeperClient.stop(dir, { graceMs: 0 });
      await sleep(300);
      const before = cpuTicks(world.pids[0]!);
      await sleep(300);
      expect(cpuTicks(world.pids[0]!) - before).toBeLessThan(5);
      execFileSync('mount', ['-o', 'remount,size=8m', dir]);
      const exit = await KeeperClient.watch(dir);
      expect(exit).toMatchObject({ signal: 9, cause: 'stop', droppedBytes: 0 });
      expect((await readFile(join(dir, 'stdout.log'))).length).toBe(exit.stdoutBytes);
    } finally {
      await KeeperClient.end(dir).catch(() => undefined);
      execFileSync('umount', ['-l', dir]);
    }
  });
});

describe('viewers', () => {
  it('get every byte from any offset on, to the end', async () => {
    await startAgent(world, sh('i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done; sleep 0.2; echo last'));
    const view = await KeeperClient.attach(world.dir, { mode: 'ro', offset: 5 });
    const seen = await collect(view.output);
    await view.exit;
    expect(seen.equals((await readFile(inDir('stdout.log'))).subarray(5))).toBe(true);
  });

  it('that come late get all of it, while settling too', async () => {
    await startAgent(world, sh('head -c 1000000 /dev/urandom'));
    await KeeperClient.watch(world.dir);
    const view = await KeeperClient.attach(world.dir, { mode: 'ro', offset: 0 });
    expect((await collect(view.output)).equals(await readFile(inDir('stdout.log')))).toBe(true);
    expect(await view.exit).toMatchObject({ code: 0 });
  });

  it('do not slow the agent when one of three stands still, and that one misses nothing', async () => {
    await startAgent(world, sh(`sleep 0.5; head -c 30000000 /dev/urandom`));
    const attach = () => KeeperClient.attach(world.dir, { mode: 'ro', offset: 0 });
    const [quick, other, stalled] = [await attach(), await attach(), await attach()];
    const seen = Promise.all([collect(quick.output), collect(other.output)]);
    const exit = await KeeperClient.watch(world.dir);
    expect(exit).toMatchObject({ code: 0, stdoutBytes: 30_000_000 });
    expect(exit.durationMs).toBeLessThan(10_000);
    const log = await readFile(inDir('stdout.log'));
    expect((await seen).every((bytes) => bytes.equals(log))).toBe(true);
    expect((await collect(stalled.output)).equals(log)).toBe(true);
    expect(await stalled.exit).toEqual(exit);
  });

  it('of a log that somebody cut do not wait for what is gone', async () => {
    await startAgent(world, sh('head -c 1000000 /dev/zero; sleep 0.5; echo more'));
    await expect.poll(async () => (await KeeperClient.status(world.dir)).stdoutBytes).toBe(1_000_000);
    truncateSync(inDir('stdout.log'), 0);
    const view = await KeeperClient.attach(world.dir, { mode: 'ro', offset: 0 });
    await collect(view.output);
    expect(await view.exit).toMatchObject({ code: 0 });
  });

  it('leave as they like', async () => {
    await startAgent(world, sh('while :; do head -c 10000 /dev/zero; sleep 0.01; done'));
    for (let i = 0; i < 60; i++) {
      const view = await KeeperClient.attach(world.dir, { mode: 'ro', offset: 0 });
      await new Promise((resolve) => view.output.once('data', resolve));
      view.close();
    }
    await expect.poll(async () => (await KeeperClient.status(world.dir)).state).toBe('running');
  });
});

describe('the agent', () => {
  it('gets exactly its environment and the descriptors 0, 1 and 2', async () => {
    await startAgent(world, node('console.log(JSON.stringify([process.env, process.argv]))'), {
      env: { A: 'x=y\n z', DROVER_TEST_DIR: world.dir, EMPTY: '' },
    });
    await KeeperClient.watch(world.dir);
    const [env] = JSON.parse(await readFile(inDir('stdout.log'), 'utf8')) as [object];
    expect(env).toEqual({ A: 'x=y\n z', DROVER_TEST_DIR: world.dir, EMPTY: '' });
  });

  it('has no descriptor above 2', async () => {
    await startAgent(world, ['ls', '-l', '/proc/self/fd'], { stderr: 'split' });
    await KeeperClient.watch(world.dir);
    const listed = (await readFile(inDir('stdout.log'), 'utf8')).match(/ \d+ -> \S+/g)!;
    // 3 is the directory that ls reads.
    expect(listed.map((line) => line.trim().split(' ')[0])).toEqual(['0', '1', '2', '3']);
    expect(listed[3]).toContain('/proc/');
    const child = await KeeperClient.exec(world.dir, execSpec(world, ['ls', '/proc/self/fd']));
    expect(String(await collect(child.stdout))).toBe('0\n1\n2\n3\n');
  });

  it('gets its arguments byte for byte', async () => {
    const all = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(i + 1)).join('');
    const args = [all, '', ' ', '$HOME `id` "\'', '\u{1f411}', 'x'.repeat(20_000)];
    await startAgent(world, [...node('console.log(JSON.stringify(process.argv.slice(1)))'), '--', ...args]);
    await KeeperClient.watch(world.dir);
    expect(JSON.parse(await readFile(inDir('stdout.log'), 'utf8'))).toEqual(args);
  });

  it('reads its prompt from a file', async () => {
    await writeFile(inDir('stdin'), 'the prompt\n');
    await startAgent(world, ['cat'], { stdin: inDir('stdin') });
    await KeeperClient.watch(world.dir);
    expect(await readFile(inDir('stdout.log'), 'utf8')).toBe('the prompt\n');
  });

  it('does not start with a stdin that is no file', async () => {
    execFileSync('mkfifo', [inDir('pipe')]);
    await expect(startAgent(world, ['cat'], { stdin: inDir('pipe') })).rejects.toMatchObject({ code: 'bad_path' });
    await expect(startAgent(world, ['cat'], { stdin: inDir('none') })).rejects.toMatchObject({ code: 'bad_path' });
  });

  it('has the signals and the file mode mask of a fresh program', async () => {
    await startAgent(world, sh('grep -E "^Sig(Blk|Ign)" /proc/self/status; umask'));
    await KeeperClient.watch(world.dir);
    const zero = '0000000000000000';
    const mask = `0${process.umask().toString(8).padStart(3, '0')}`;
    expect(await readFile(inDir('stdout.log'), 'utf8')).toBe(`SigBlk:\t${zero}\nSigIgn:\t${zero}\n${mask}\n`);
  });
});

describe('a keeper', () => {
  it('serves a directory with a long path', async () => {
    const dir = inDir('d'.repeat(120));
    mkdirSync(dir);
    await startAgent(world, sh('echo far; sleep 0.2'), { dir });
    expect((await KeeperClient.status(dir)).state).toBe('running');
    expect(await KeeperClient.watch(dir)).toMatchObject({ code: 0 });
    await KeeperClient.end(dir);
    await expect(KeeperClient.status(dir)).rejects.toMatchObject({ code: 'keeper_gone' });
    await expect(KeeperClient.status(`${dir}${'e'.repeat(100)}`)).rejects.toMatchObject({ code: 'keeper_gone' });
  });

  it('answers a status when as many clients as it serves stay connected', async () => {
    await startAgent(world, sh('sleep 1000'));
    const given = Array.from({ length: 26 }, () => new AbortController());
    const watches = given.map(({ signal }) => KeeperClient.watch(world.dir, { signal }));
    watches.forEach((watch) => void watch.catch(() => undefined));
    await expect.poll(() => KeeperClient.watch(world.dir).then(String, (error) => error.code)).toBe('too_many');
    const idle = await Promise.all(Array.from({ length: 5 }, () => rawConnection(world)));
    expect((await KeeperClient.status(world.dir)).state).toBe('running');
    given.forEach((one) => void one.abort());
    idle.forEach((socket) => void socket.destroy());
    await expect(watches[0]).rejects.toMatchObject({ code: 'aborted' });
    await expect.poll(() => KeeperClient.status(world.dir).then(({ state }) => state)).toBe('running');
  });

  it('drops who connects and says nothing', async () => {
    await startAgent(world, sh('sleep 1000'));
    const socket = await rawConnection(world);
    socket.write(encodeFrame('R', encodeRecords([['op', 'status']])).subarray(0, 7));
    const begun = Date.now();
    await new Promise((resolve) => socket.once('close', resolve));
    expect(Date.now() - begun).toBeGreaterThan(3000);
  }, 20_000);
});
