import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HelperClient } from './helper-client.ts';
import { KeeperClient } from './keeper-client.ts';
import { canRunHelper, HelperDaemon, pause, slow, until } from './testing/helper-daemon.ts';

const ALICE = 61_234;
const BOB = 61_235;
const CAROL = 61_236;

describe.skipIf(!canRunHelper)('lifetime', { timeout: 60_000 * slow }, () => {
  let daemon: HelperDaemon;
  let client: HelperClient;

  beforeEach(async () => {
    daemon = await HelperDaemon.start('--allow-uid', String(ALICE), '--allow-uid', String(BOB));
    client = await daemon.client();
  }, 60_000 * slow);
  afterEach(() => daemon.dispose());

  const create = async (tag: string, from = client): Promise<string> =>
    (await from.create({ tag, level: 'enhanced', limits: {} })).sandbox;

  test('twenty daemons that fork twice, leave the session and ignore SIGTERM are gone with one kill', async () => {
    const sandbox = await create('daemons');
    const daemonize =
      'for i in $(seq 20); do setsid sh -c "trap \\"\\" TERM HUP INT; (sleep 1000 & sleep 1000) & sleep 1000" & done; sleep 1000';
    await daemon.spawn(client, sandbox, daemonize);
    await until(async () => (await client.stats(sandbox))[0]!.pids! > 60);
    const start = performance.now();
    await client.kill(sandbox, 'agent');
    const ms = performance.now() - start;
    console.log(`kill of ${20 * 4} processes: ${ms.toFixed(1)} ms`);
    expect(ms).toBeLessThan(100 * slow);
    expect((await client.stats(sandbox))[0]!.populated).toBe(false);
    await client.kill(sandbox, 'all');
    await client.remove(sandbox);
    expect(await client.list()).toEqual([]);
  });

  test('create is idempotent: the tag answers the same sandbox', async () => {
    const first = await client.create({ tag: 'same', level: 'enhanced', limits: { pids_max: '10' } });
    const second = await client.create({ tag: 'same', level: 'enhanced', limits: {} });
    expect(second).toEqual(first);
  });

  test('remove refuses while something lives, and leaves nothing when it is done', async () => {
    const sandbox = await create('busy');
    await daemon.spawn(client, sandbox, 'sleep 100');
    await expect(client.remove(sandbox)).rejects.toMatchObject({ code: 'busy' });
    await client.kill(sandbox, 'all');
    await client.remove(sandbox);
    for (const group of daemon.groups()) expect(readdirSync(group).filter((name) => name.startsWith('u'))).toEqual([]);
    expect(readdirSync(join(daemon.dir, 'state', 'registry'))).toEqual([]);
    await expect(client.stats(sandbox)).rejects.toMatchObject({ code: 'no_such_sandbox' });
  });

  test('agents live through a SIGKILL of the helper, and the next one has them again', async () => {
    const sandbox = await create('survivor');
    const made = (await client.list())[0]!;
    const dir = await daemon.spawn(client, sandbox, 'while :; do echo tick; sleep 0.1; done');
    await daemon.end('SIGKILL');
    await pause(200);
    expect((await KeeperClient.status(dir)).state).toBe('running');
    await daemon.restart();
    const again = await daemon.client();
    expect(await again.list()).toEqual([{ ...made, populated: true }]);
    expect((await again.stats(sandbox))[0]!.pids).toBeGreaterThan(0);
    await again.kill(sandbox, 'all');
    await again.remove(sandbox);
    expect(await again.list()).toEqual([]);
  });

  test('an OOM while no helper runs ends the group when there is one again', async () => {
    const made = await client.create({ tag: 'oom', level: 'enhanced', limits: { memory_max: String(48 << 20) } });
    await daemon.spawn(client, made.sandbox, 'sleep 1; tail /dev/zero; sleep 1000');
    await daemon.end('SIGKILL');
    await pause(2_500 * slow);
    await daemon.restart();
    const again = await daemon.client();
    await until(async () => (await again.stats(made.sandbox))[0]!.populated === false);
    expect((await again.stats(made.sandbox))[0]!.oomKills).toBeGreaterThan(0);
  });

  test('groups that nobody knows are ended at start, below the own group only, and half-made ones too', async () => {
    const sandbox = await create('half');
    await daemon.end('SIGKILL');
    const unified = daemon.groups().find((group) => existsSync(join(group, 'cgroup.kill')))!;
    const stray = join(unified, 'u0', 's0123456789abcdef');
    mkdirSync(join(stray, 'agent'), { recursive: true });
    const sleeper = spawn('sleep', ['1000']);
    const gone = once(sleeper, 'exit');
    writeFileSync(join(stray, 'agent', 'cgroup.procs'), String(sleeper.pid));
    const other = join(unified, 'somebody-elses');
    mkdirSync(other);
    const registry = join(daemon.dir, 'state', 'registry');
    await writeFile(join(registry, 'sffffffffffffffff'), 'state=live\ntag=x\n');
    await writeFile(
      join(registry, sandbox),
      'state=creating\ntag=half\nuid=0\nagent_uid=2000000\nagent_gid=2000000\ncreated_ms=1\ntolerate_oom=0\ndevice_major=0\ndevice_minor=0\noom_seen=0\n',
    );
    await daemon.restart();
    await gone;
    expect(existsSync(stray)).toBe(false);
    expect(existsSync(other)).toBe(true);
    expect(await (await daemon.client()).list()).toEqual([]);
    expect(readdirSync(registry)).toEqual([]);
  });

  test('SIGTERM ends the helper and leaves the agents', async () => {
    const sandbox = await create('term');
    const dir = await daemon.spawn(client, sandbox, 'sleep 1000');
    await daemon.end('SIGTERM');
    expect(existsSync(daemon.socket)).toBe(false);
    expect((await KeeperClient.status(dir)).state).toBe('running');
    await daemon.restart();
    await (await daemon.client()).kill(sandbox, 'all');
  });

  test('a keeper that dies takes its own agent and no other', async () => {
    const [one, two] = [await create('one'), await create('two')];
    const dir = await daemon.attemptDir();
    const { keeperPid } = await client.spawn({ sandbox: one, dir, cwd: '/', argv: ['/bin/sleep', '1000'], env: {} });
    await daemon.spawn(client, two, 'sleep 1000');
    process.kill(keeperPid, 'SIGKILL');
    await until(async () => (await client.list()).find((s) => s.sandbox === one)!.populated === false);
    expect((await client.stats(two))[0]!.populated).toBe(true);
    await client.kill(two, 'all');
  });

  test('users do not see each other, and strangers nothing at all', async () => {
    const [alice, bob] = [await daemon.client(ALICE), await daemon.client(BOB)];
    const hers = await create('same-tag', alice);
    const his = await create('same-tag', bob);
    expect(hers).not.toBe(his);
    expect((await alice.list()).map((s) => s.sandbox)).toEqual([hers]);
    for (const call of [
      bob.kill(hers, 'all'),
      bob.remove(hers),
      bob.freeze(hers),
      bob.stats(hers),
      bob.update(hers, { pids_max: '1' }),
    ])
      await expect(call).rejects.toMatchObject({ code: 'no_such_sandbox', message: `there is no sandbox '${hers}'` });
    await expect(bob.shutdown()).rejects.toMatchObject({ code: 'not_permitted' });
    await expect(daemon.client(CAROL)).rejects.toMatchObject({ code: 'not_permitted' });
  });

  test("an agent of a user is that user, his keeper too, and paths are opened with the user's rights", async () => {
    const alice = await daemon.client(ALICE);
    const made = await alice.create({ tag: 'hers', level: 'enhanced', limits: {} });
    expect(made).toMatchObject({ agentUid: ALICE, agentGid: ALICE });
    const own = join(daemon.dir, 'alice');
    const bobs = join(daemon.dir, 'bob');
    for (const [dir, uid] of [
      [own, ALICE],
      [bobs, BOB],
    ] as const) {
      await mkdir(join(dir, 'deep'), { recursive: true, mode: 0o700 });
      await chown(join(dir, 'deep'), uid, uid);
      await chown(dir, uid, uid);
    }
    const run = await daemon.run(
      alice,
      made.sandbox,
      'id -u; id -G; ls -ld /mnt | cut -c1-10; touch /mnt/x && echo ok',
      { mounts: [{ kind: 'rw', src: own, dst: '/mnt' }] },
    );
    expect(run.output).toBe(`${ALICE}\n${ALICE}\ndrwx------\nok\n`);
    const spied = daemon.run(alice, made.sandbox, 'true', {
      mounts: [{ kind: 'ro', src: join(bobs, 'deep'), dst: '/mnt' }],
    });
    await expect(spied).rejects.toMatchObject({
      code: 'bad_path',
      message: expect.stringContaining('Permission denied'),
    });
    await expect(
      alice.create({ tag: 'spy', level: 'enhanced', limits: {}, ioPath: join(bobs, 'deep') }),
    ).rejects.toMatchObject({ code: 'bad_path' });
    await expect(daemon.run(alice, made.sandbox, 'true', { dir: bobs })).rejects.toMatchObject({
      code: expect.stringMatching(/spawn_failed|bad_path/),
    });
  });

  test('root gives every sandbox a uid of its own, and a released one comes back last', async () => {
    const a = await client.create({ tag: 'a', level: 'enhanced', limits: {} });
    const b = await client.create({ tag: 'b', level: 'enhanced', limits: {} });
    expect(b.agentUid).not.toBe(a.agentUid);
    await client.remove(a.sandbox);
    expect((await client.create({ tag: 'c', level: 'enhanced', limits: {} })).agentUid).toBe(b.agentUid + 1);
  });

  test('a second helper on the same socket refuses to start', async () => {
    const { helperBinary } = await import('./binaries.ts');
    const second = spawn(helperBinary(), [
      '--socket',
      daemon.socket,
      '--state-dir',
      join(daemon.dir, 'other'),
      '--cgroup',
      `${daemon.cgroup}-b`,
    ]);
    const [code] = await once(second, 'exit');
    expect(code).toBe(1);
    expect((await client.list()).length).toBe(0);
  });

  test('shutdown: only without sandboxes', async () => {
    const sandbox = await create('last');
    await expect(client.shutdown()).rejects.toMatchObject({ code: 'busy' });
    await client.remove(sandbox);
    await client.shutdown();
    await client.closed;
    await until(() => !existsSync(daemon.socket));
    for (const group of daemon.groups()) expect(group).toBe('gone');
  });
});
