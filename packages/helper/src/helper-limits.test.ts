import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HelperEvent } from './helper-answers.ts';
import type { HelperClient } from './helper-client.ts';
import { KeeperClient } from './keeper-client.ts';
import { canRunHelper, HelperDaemon, pause, slow, until } from './testing/helper-daemon.ts';

const MiB = 1 << 20;
/** I/O limits need a file system on a disk, which a guest or a container may not have. */
const EXT4 = 0xef53;

describe.skipIf(!canRunHelper)('limits', { timeout: 60_000 * slow }, () => {
  let daemon: HelperDaemon;
  let client: HelperClient;
  const events: HelperEvent[] = [];

  beforeAll(async () => {
    daemon = await HelperDaemon.start();
    client = await daemon.client();
    await client.subscribe((event) => events.push(event));
  }, 60_000 * slow);
  afterAll(() => daemon?.dispose());

  let tags = 0;
  const create = async (limits: Record<string, string>, more = {}): Promise<string> =>
    (await client.create({ tag: `limits-${tags++}`, level: 'enhanced', limits, ...more })).sandbox;
  const control = (sandbox: string, ...files: string[]): string => {
    for (const group of daemon.groups())
      for (const file of files) {
        try {
          return readFileSync(join(group, 'u0', sandbox, 'agent', file), 'utf8').trim();
        } catch {
          // not in this hierarchy, or not of this version
        }
      }
    return 'absent';
  };
  const can = (limit: string): boolean => client.hello.caps.includes(`limit.${limit}`);

  test('each one reads back as it was asked for', async () => {
    const wanted: Record<string, string> = {
      cpu_quota_us: '50000',
      cpu_weight: '250',
      memory_max: String(64 * MiB),
      swap_max: String(32 * MiB),
      swappiness: '10',
      pids_max: '50',
      cpuset: '0',
      io_rbps: '10485760',
      io_wbps: '5242880',
      io_riops: '1000',
      io_wiops: '500',
    };
    for (const key of Object.keys(wanted)) if (!can(key)) delete wanted[key];
    const onDisk = statfsSync(daemon.dir).type === EXT4;
    if (!onDisk) for (const key of Object.keys(wanted)) if (key.startsWith('io_')) delete wanted[key];
    const made = await client.create({ tag: 'all', level: 'enhanced', limits: wanted, ioPath: daemon.dir });
    expect(made.enforced.sort()).toEqual(Object.keys(wanted).sort());
    expect(['50000', '50000 100000']).toContain(control(made.sandbox, 'cpu.cfs_quota_us', 'cpu.max'));
    expect(['2560', '250']).toContain(control(made.sandbox, 'cpu.shares', 'cpu.weight'));
    expect(control(made.sandbox, 'memory.limit_in_bytes', 'memory.max')).toBe(String(64 * MiB));
    expect(control(made.sandbox, 'pids.max')).toBe('50');
    if (can('cpuset')) expect(control(made.sandbox, 'cpuset.cpus')).toBe('0');
    if (can('io_wbps') && onDisk)
      expect(control(made.sandbox, 'blkio.throttle.write_bps_device', 'io.max')).toMatch(/5242880/);
    const later = await client.update(made.sandbox, {
      memory_max: String(128 * MiB),
      cpu_quota_us: 'max',
      pids_max: '60',
    });
    expect(later).not.toContain('cpu_quota_us');
    expect(['-1', 'max 100000']).toContain(control(made.sandbox, 'cpu.cfs_quota_us', 'cpu.max'));
    expect(control(made.sandbox, 'memory.limit_in_bytes', 'memory.max')).toBe(String(128 * MiB));
    if (client.hello.mode !== 'v2')
      expect(control(made.sandbox, 'memory.memsw.limit_in_bytes')).toBe(String(160 * MiB));
    await client.update(made.sandbox, { memory_max: String(32 * MiB) });
    if (client.hello.mode !== 'v2') expect(control(made.sandbox, 'memory.memsw.limit_in_bytes')).toBe(String(64 * MiB));
    await client.remove(made.sandbox);
  });

  test('a memory limit leaves no swap unless it is asked for', async () => {
    const sandbox = await create({ memory_max: String(64 * MiB) });
    if (can('swap_max'))
      expect([String(64 * MiB), '0']).toContain(control(sandbox, 'memory.memsw.limit_in_bytes', 'memory.swap.max'));
    await client.remove(sandbox);
  });

  test('what is out of range or cannot be done is refused by name, and nothing is made', async () => {
    await expect(create({ cpu_weight: '10001' })).rejects.toMatchObject({ code: 'limit_range' });
    await expect(create({ cpu_quota_us: '999' })).rejects.toMatchObject({ code: 'limit_range' });
    await expect(create({ pids_max: '0' })).rejects.toMatchObject({ code: 'limit_range' });
    await expect(create({ io_wbps: '5000000' })).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('io_path'),
    });
    if (can('cpuset')) await expect(create({ cpuset: '900' })).rejects.toMatchObject({ code: 'limit_range' });
    if (can('cpuset')) await expect(create({ cpuset: '0-' })).rejects.toMatchObject({ code: 'limit_range' });
    if (!can('swappiness'))
      await expect(create({ swappiness: '1' })).rejects.toMatchObject({
        code: 'limit_unsupported',
        message: expect.stringContaining('swappiness'),
      });
    if (client.hello.mode !== 'v2')
      await expect(create({ swap_max: '0' })).rejects.toMatchObject({ code: 'limit_unsupported' });
    if (can('io_wbps'))
      await expect(create({ io_wbps: '5000000' }, { ioPath: '/proc' })).rejects.toMatchObject({
        code: 'limit_unsupported',
      });
    await expect(create({}, { ioPath: '/nowhere' })).rejects.toMatchObject({ code: 'bad_path' });
    expect(await client.list()).toEqual([]);
  });

  test('one OOM kill ends the whole agent group, and says so', async () => {
    const sandbox = await create({ memory_max: String(48 * MiB) });
    const run = await daemon.run(client, sandbox, '(sleep 300 &) ; sleep 300 & tail /dev/zero; sleep 300');
    expect(run.exit.signal).toBe(9);
    expect(run.exit.oomKills).toBeGreaterThan(0);
    const [stats] = await client.stats(sandbox);
    expect(stats!.oomKills).toBeGreaterThan(0);
    expect(stats!.populated).toBe(false);
    await until(() => events.some((e) => e.event === 'oom' && e.sandbox === sandbox));
    await until(() => events.some((e) => e.event === 'empty' && e.sandbox === sandbox));
    expect((await daemon.run(client, sandbox, 'echo settled')).output).toBe('settled\n');
    await client.remove(sandbox);
  });

  test('with oom=tolerate the others live on', async () => {
    const sandbox = await create({ memory_max: String(48 * MiB) }, { oom: 'tolerate' });
    const run = await daemon.run(client, sandbox, 'tail /dev/zero; echo $?; sleep 0.3; echo alive');
    expect(run.output).toContain('137\nalive');
    expect(run.exit.code).toBe(0);
    await client.remove(sandbox);
  });

  test('a fork bomb stops at pids_max and is gone with one kill', async () => {
    const sandbox = await create({ pids_max: '60' });
    await daemon.spawn(client, sandbox, 'f() { f | f & }; f 2>/dev/null; sleep 100');
    await until(async () => (await client.stats(sandbox))[0]!.pidsMaxHits! > 0);
    expect((await client.stats(sandbox))[0]!.pids).toBeLessThanOrEqual(60);
    await until(() => events.some((e) => e.event === 'pids_max' && e.sandbox === sandbox));
    const start = performance.now();
    await client.kill(sandbox, 'agent');
    expect(performance.now() - start).toBeLessThan(1_000 * slow);
    expect((await client.stats(sandbox))[0]!.populated).toBe(false);
    await until(async () => (await client.stats(sandbox))[0]!.pids === 0); // a killed process is counted until its memory is freed
    await client.kill(sandbox, 'all');
    await client.remove(sandbox);
  });

  test('a CPU quota holds', async () => {
    const sandbox = await create({ cpu_quota_us: '20000' });
    const dir = await daemon.spawn(client, sandbox, 'while :; do :; done');
    await pause(200);
    const before = (await client.stats(sandbox))[0]!.cpuUs!;
    await pause(1_000);
    const used = (await client.stats(sandbox))[0]!.cpuUs! - before;
    expect(used).toBeLessThan(300_000);
    expect((await client.stats(sandbox))[0]!.throttledUs).toBeGreaterThan(0);
    await client.kill(sandbox, 'all');
    await client.remove(sandbox);
    await until(() => existsSync(join(dir, 'exit')));
    expect(readFileSync(join(dir, 'exit'), 'utf8')).toContain('cause=init_lost');
  });

  test('the cpuset is the number of CPUs that programs see', async () => {
    if (!can('cpuset')) return;
    const sandbox = await create({ cpuset: '0' });
    expect((await daemon.run(client, sandbox, 'nproc')).output).toBe('1\n');
    await client.update(sandbox, { cpuset: 'max' });
    expect(Number((await daemon.run(client, sandbox, 'nproc')).output)).toBeGreaterThan(0);
    await client.remove(sandbox);
  });

  test('a frozen group uses no CPU, and thaws', async () => {
    const sandbox = await create({});
    const dir = await daemon.spawn(client, sandbox, 'while :; do :; done');
    await pause(100);
    await client.freeze(sandbox);
    const before = (await client.stats(sandbox))[0]!;
    await pause(200);
    const after = (await client.stats(sandbox))[0]!;
    expect(before.frozen).toBe(true);
    expect(after.cpuUs! - before.cpuUs!).toBeLessThan(2_000 * slow);
    expect((await KeeperClient.status(dir)).state).toBe('running');
    await client.thaw(sandbox);
    await pause(200);
    expect((await client.stats(sandbox))[0]!.cpuUs! - after.cpuUs!).toBeGreaterThan(20_000);
    await client.freeze(sandbox);
    await client.kill(sandbox, 'all');
    await client.remove(sandbox);
  });

  test('write bandwidth is held where the limit can be had', async () => {
    if (!can('io_wbps') || statfsSync(daemon.dir).type !== EXT4) return;
    const sandbox = await create({ io_wbps: String(4 * MiB) }, { ioPath: daemon.dir });
    const agent = (await client.list()).find((s) => s.sandbox === sandbox)!;
    const { mkdir, chown } = await import('node:fs/promises');
    const work = join(daemon.dir, 'io');
    await mkdir(work);
    await chown(work, agent.agentUid, agent.agentGid);
    const start = performance.now();
    const run = await daemon.run(client, sandbox, 'dd if=/dev/zero of=/mnt/f bs=1M count=8 oflag=direct 2>&1', {
      mounts: [{ kind: 'rw', src: work, dst: '/mnt' }],
    });
    expect(run.exit.code, run.output).toBe(0);
    expect(performance.now() - start).toBeGreaterThan(1_000);
    expect((await client.stats(sandbox))[0]!.wbytes).toBeGreaterThanOrEqual(8 * MiB);
    await client.remove(sandbox);
  });
});

describe.skipIf(!canRunHelper)('ceilings', { timeout: 60_000 * slow }, () => {
  test("a request over the user's ceiling is refused; together his sandboxes cannot exceed it", async () => {
    const daemon = await HelperDaemon.start('--max_memory', String(64 * MiB), '--max_sandboxes', '2');
    try {
      const client = await daemon.client();
      await expect(
        client.create({ tag: 'a', level: 'enhanced', limits: { memory_max: String(65 * MiB) } }),
      ).rejects.toMatchObject({ code: 'limit_ceiling' });
      const a = await client.create({ tag: 'a', level: 'enhanced', limits: {} });
      await client.create({ tag: 'b', level: 'enhanced', limits: {} });
      await expect(client.create({ tag: 'c', level: 'enhanced', limits: {} })).rejects.toMatchObject({
        code: 'too_many',
      });
      const run = await daemon.run(client, a.sandbox, 'tail /dev/zero; echo $?');
      expect(run.output === '137\n' || run.exit.signal === 9).toBe(true);
    } finally {
      await daemon.dispose();
    }
  });
});
