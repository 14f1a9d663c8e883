import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type HelperClient, KeeperClient, type KeeperExec, readExitRecord } from './index.ts';
import { canRunHelper, HelperDaemon, slow } from './testing/helper-daemon.ts';
import { alive, collect, sh } from './testing/keeper-world.ts';

/** The same keeper and init, with namespaces and groups between them. */
describe.skipIf(!canRunHelper)('in a sandbox', { timeout: 60_000 * slow }, () => {
  let daemon: HelperDaemon;
  let client: HelperClient;
  let sandbox: string;
  let dir: string;

  beforeAll(async () => {
    daemon = await HelperDaemon.start();
    client = await daemon.client();
  }, 60_000 * slow);
  afterAll(() => daemon?.dispose());
  beforeEach(async () => {
    ({ sandbox } = await client.create({ tag: 'keeper', level: 'enhanced', limits: { pids_max: '300' } }));
    dir = await daemon.attemptDir(client.hello.uid);
  });
  afterEach(async () => {
    await client.thaw(sandbox).catch(() => undefined);
    await KeeperClient.stop(dir, { graceMs: 0 }).catch(() => undefined);
    await KeeperClient.watch(dir).catch(() => undefined);
    await KeeperClient.end(dir).catch(() => undefined);
    await client.kill(sandbox, 'all');
    await client.remove(sandbox);
  });

  const start = (script: string, more = {}): Promise<string> => daemon.spawn(client, sandbox, script, { dir, ...more });
  const log = (): Promise<string> => readFile(join(dir, 'stdout.log'), 'utf8');
  const spec = (script: string, group: 'agent' | 'side'): KeeperExec => ({
    argv: sh(script),
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
    group,
  });
  const output = async (script: string, group: 'agent' | 'side'): Promise<string> => {
    const child = await KeeperClient.exec(dir, spec(script, group));
    child.stdin.end();
    child.stderr.resume();
    return String(await collect(child.stdout));
  };

  it('the agent has a terminal of its own namespace, with job control', async () => {
    const script = 'tty; stty size; echo >/dev/tty ok; bash --norc -ic "jobs; echo control"; ps -o tty= -p $$';
    await start(script, { tty: true, rows: 31, cols: 97 });
    await KeeperClient.watch(dir);
    expect(await log()).toBe('/dev/pts/0\r\n31 97\r\nok\r\ncontrol\r\npts/0\r\n');
  });

  it('status tells the pid that the host sees', async () => {
    await start('echo $$; exec sleep 1000');
    const { pid, initPid } = await KeeperClient.status(dir);
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/NSpid:\t\d+\t2\n/);
    expect(readFileSync(`/proc/${initPid}/status`, 'utf8')).toMatch(/NSpid:\t\d+\t1\n/);
  });

  it('init is closed to the agent: no descriptor, no memory, no signal', async () => {
    await start(
      'ls -A /proc/1/fd; cat /proc/1/environ; head -c 1 /proc/1/mem; readlink /proc/1/exe; kill -9 1; kill -STOP 1; echo still; id -u; ls /proc/$$/fd | head -1',
      { stderr: 'split' },
    );
    const exit = await KeeperClient.watch(dir);
    expect(await log()).toMatch(/^still\n\d+\n0\n$/);
    expect(exit).toMatchObject({ code: 0, cause: 'exit' });
  });

  it('standard files can be opened by name, though the pipes are another user’s', async () => {
    await start('echo one > /dev/stdout; echo two > /dev/stderr; cat /dev/stdin');
    await KeeperClient.watch(dir);
    expect(await log()).toBe('one\ntwo\n');
    expect(await output('cat /dev/stdin; echo out > /dev/stdout', 'side')).toBe('out\n');
  });

  it('the end of the agent ends what it left behind and spares commands beside it', async () => {
    await start('for i in $(seq 20); do setsid sh -c "trap \'\' TERM; sleep 1000" & done; sleep 0.7; exit 5');
    const side = output('sleep 1.5; ls -d /proc/[0-9]* | wc -l', 'side');
    expect(await KeeperClient.watch(dir)).toMatchObject({ code: 5 });
    // init, the shell, ls, wc
    expect(Number(await side)).toBeLessThanOrEqual(4);
    expect(await output('echo settled', 'agent')).toBe('settled\n');
  });

  it('a killed keeper takes the whole namespace with it', async () => {
    await start('setsid sleep 1000 & exec sleep 1000');
    const { initPid, pid } = await KeeperClient.status(dir);
    const keeper = Number(/PPid:\t(\d+)/.exec(readFileSync(`/proc/${initPid}/status`, 'utf8'))![1]);
    process.kill(keeper, 'SIGKILL');
    await expect.poll(() => [initPid, pid].filter(alive)).toEqual([]);
    expect(await readExitRecord(dir)).toBe(null);
  });

  it('a killed init leaves a record that says so', async () => {
    await start('echo seen; setsid sleep 1000 & exec sleep 1000');
    await expect.poll(log).toBe('seen\n');
    const { initPid, pid } = await KeeperClient.status(dir);
    process.kill(initPid, 'SIGKILL');
    await expect.poll(() => readExitRecord(dir)).toMatchObject({ cause: 'init_lost', code: null, signal: null });
    expect([initPid, pid].filter(alive)).toEqual([]);
  });

  it('a command that waits to enter a frozen group holds up nobody else', async () => {
    await start('exec sleep 1000');
    await client.freeze(sandbox);
    const waiting = output('echo thawed', 'agent');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await output('echo beside', 'side')).toBe('beside\n');
    await client.thaw(sandbox);
    expect(await waiting).toBe('thawed\n');
  });

  it('a program that takes every process it may does not keep its end from coming', async () => {
    await start('b() { b | b & }; b 2>/dev/null; sleep 1000');
    await expect.poll(async () => (await client.stats(sandbox))[0]!.pids ?? 0).toBeGreaterThan(200);
    const begun = Date.now();
    await KeeperClient.stop(dir, { graceMs: 0 });
    expect(await KeeperClient.watch(dir)).toMatchObject({ cause: 'stop' });
    console.log(`300 processes that fork: record after ${Date.now() - begun} ms`);
  });

  it('the record counts kills for want of memory', async () => {
    await client.update(sandbox, { memory_max: String(64 << 20) });
    await start('tail /dev/zero');
    const exit = await KeeperClient.watch(dir);
    expect(exit.signal).toBe(9);
    expect(exit.oomKills).toBeGreaterThan(0);
  });
});
