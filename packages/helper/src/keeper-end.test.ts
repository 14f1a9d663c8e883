import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KeeperClient, KeeperError, keeperBinary, readExitRecord, specRecords, startBasicKeeper } from './index.ts';
import { encodeRecords } from './records.ts';
import {
  alive,
  cpuTicks,
  execSpec,
  keeperWorld,
  node,
  processesIn,
  sh,
  sleep,
  specOf,
  startAgent,
} from './testing/keeper-world.ts';

const world = keeperWorld();
const DAEMON = `setsid sh -c 'trap "" TERM INT HUP; (trap "" TERM; while :; do sleep 1000; done) & while :; do sleep 1000; done' &`;

const logHas = (text: string): Promise<void> =>
  expect.poll(() => readFile(join(world.dir, 'stdout.log'), 'utf8'), { timeout: 10_000 }).toBe(text);

describe('exit record', () => {
  it('has the exit code, the same on disk and in the event', async () => {
    await startAgent(world, sh('exit 7'));
    const told = await KeeperClient.watch(world.dir);
    expect(told).toMatchObject({ code: 7, signal: null, cause: 'exit' });
    expect(await readExitRecord(world.dir)).toEqual(told);
  });

  it('has the signal', async () => {
    await startAgent(world, sh('kill -SEGV $$'));
    expect(await KeeperClient.watch(world.dir)).toMatchObject({ code: null, signal: 11 });
  });

  it('has what the agent used', async () => {
    await startAgent(world, node('const end = Date.now() + 300; while (Date.now() < end) {}'));
    const exit = await KeeperClient.watch(world.dir);
    expect(exit.utimeUs).toBeGreaterThan(50_000);
    expect(exit.maxrssKb).toBeGreaterThan(20_000);
    expect(exit.durationMs).toBeGreaterThan(290);
    expect(exit.endedMs - exit.startedMs).toBeGreaterThan(290);
  });

  it('stands only after orphans are dead and their output is in the log', async () => {
    await startAgent(
      world,
      sh('for i in 1 2 3 4 5; do setsid sh -c "trap \'\' TERM; echo $i; sleep 1000" & done; sleep 0.3; exit 0'),
    );
    await KeeperClient.watch(world.dir);
    const lines = (await readFile(join(world.dir, 'stdout.log'), 'utf8')).split('\n').filter(Boolean);
    expect(lines.sort()).toEqual(['1', '2', '3', '4', '5']);
    expect(processesIn(world.dir)).toEqual([]);
  });

  it('of an earlier run is not taken for that of a new one', async () => {
    await startAgent(world, sh('exit 1'));
    await KeeperClient.watch(world.dir);
    await KeeperClient.end(world.dir);
    await startAgent(world, sh('sleep 1000'));
    expect(await readExitRecord(world.dir)).toBe(null);
  });
});

describe('start', () => {
  it('names a program that does not exist', async () => {
    const start = startAgent(world, ['/no/such/program']);
    await expect(start).rejects.toMatchObject({ code: 'spawn_failed', message: 'program: No such file or directory' });
    expect(existsSync(join(world.dir, 'keeper.sock'))).toBe(false);
  });

  it('names a directory that does not exist', async () => {
    await expect(startAgent(world, ['true'], { cwd: '/no/such' })).rejects.toMatchObject({
      message: 'directory: No such file or directory',
    });
    await expect(startBasicKeeper({ ...specOf(world, ['true']), dir: '/no/such' })).rejects.toMatchObject({
      code: 'bad_path',
    });
  });

  it('is refused, and harms nothing, in the directory of a living keeper', async () => {
    await startAgent(world, sh('echo precious; sleep 1000'));
    await logHas('precious\n');
    await expect(startBasicKeeper(specOf(world, ['true']))).rejects.toMatchObject({ code: 'busy' });
    expect(await readFile(join(world.dir, 'stdout.log'), 'utf8')).toBe('precious\n');
    expect((await KeeperClient.status(world.dir)).state).toBe('running');
  });

  it('takes over the directory of a keeper that was killed', async () => {
    await startAgent(world, sh('sleep 1000'));
    process.kill(world.pids[0]!, 'SIGKILL');
    await expect.poll(() => world.pids.filter(alive)).toEqual([]);
    await startAgent(world, sh('exit 4'));
    expect(await KeeperClient.watch(world.dir)).toMatchObject({ code: 4 });
  });

  it('rejects when there is no keeper program', async () => {
    const before = process.env.DROVER_LIBEXEC;
    process.env.DROVER_LIBEXEC = '/no/such';
    try {
      await expect(startBasicKeeper(specOf(world, ['true']))).rejects.toBeInstanceOf(KeeperError);
    } finally {
      if (before === undefined) delete process.env.DROVER_LIBEXEC;
      else process.env.DROVER_LIBEXEC = before;
    }
  });
});

describe('stop', () => {
  it('gives the agent its grace', async () => {
    await startAgent(world, sh('trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.05; done'));
    await logHas('ready\n');
    await KeeperClient.stop(world.dir, { graceMs: 5000 });
    expect(await KeeperClient.watch(world.dir)).toMatchObject({ code: 0, cause: 'stop' });
    expect(await readFile(join(world.dir, 'stdout.log'), 'utf8')).toContain('bye');
  });

  it('can be made sooner, not later', async () => {
    await startAgent(world, sh('trap "" TERM; echo ready; while :; do sleep 1; done'));
    await logHas('ready\n');
    await KeeperClient.stop(world.dir, { graceMs: 600_000 });
    await KeeperClient.stop(world.dir, { graceMs: 50 });
    await KeeperClient.stop(world.dir, { graceMs: 600_000 });
    expect(await KeeperClient.watch(world.dir)).toMatchObject({ signal: 9, cause: 'stop' });
  });

  it('ends 20 double-forked daemons in sessions of their own that ignore SIGTERM', async () => {
    await startAgent(world, sh(`trap '' TERM; ${DAEMON.repeat(20)} echo ready; while :; do sleep 1000; done`));
    await logHas('ready\n');
    await expect.poll(() => processesIn(world.dir).length).toBeGreaterThan(60);
    await KeeperClient.stop(world.dir, { graceMs: 50 });
    expect(await KeeperClient.watch(world.dir)).toMatchObject({ signal: 9, cause: 'stop' });
    expect(processesIn(world.dir)).toEqual([]);
  });

  // Both programs end by themselves, should the keeper fail to end them: a test must not be able to take the machine.
  it('ends a program that forks, leaves its session and dies, over and over', async () => {
    // Each generation lives a moment: whoever looks for it finds its predecessor.
    const hop = '[ $G -gt 0 ] || exit; export G=$((G-1)); setsid sh -c "$HOP" >/dev/null 2>&1 & exit';
    const env = { ...specOf(world, []).env, HOP: hop, G: '20000' };
    await startAgent(world, sh('for i in 1 2 3 4; do sh -c "$HOP" & done; echo ready; sleep 20'), { env });
    await logHas('ready\n');
    await sleep(200);
    expect(processesIn(world.dir).length).toBeGreaterThan(1);
    await KeeperClient.stop(world.dir, { graceMs: 0 });
    await KeeperClient.watch(world.dir);
    expect(processesIn(world.dir)).toEqual([]);
  });

  it('ends a tree of processes while it grows, each in a session of its own', async () => {
    const grow =
      '[ $G -gt 0 ] || exec sleep 20; export G=$((G-1)); setsid sh -c "$GROW" & setsid sh -c "$GROW" & exec sleep 20';
    const env = { ...specOf(world, []).env, GROW: grow, G: '7' };
    await startAgent(world, sh('eval "$GROW"'), { env });
    await expect.poll(() => processesIn(world.dir).length, { interval: 5 }).toBeGreaterThan(20);
    await KeeperClient.stop(world.dir, { graceMs: 0 });
    expect(await KeeperClient.watch(world.dir)).toMatchObject({ cause: 'stop' });
    expect(processesIn(world.dir)).toEqual([]);
  });

  it('of the keeper by SIGTERM stops the agent, leaves the record, and settles nothing', async () => {
    await startAgent(world, sh('trap "exit 5" TERM; echo ready; while :; do sleep 0.05; done'));
    await logHas('ready\n');
    process.kill(world.pids[0]!, 'SIGTERM');
    await expect.poll(() => readExitRecord(world.dir)).toMatchObject({ code: 5, cause: 'stop' });
    await expect.poll(() => world.pids.filter(alive)).toEqual([]);
    expect(existsSync(join(world.dir, 'keeper.sock'))).toBe(false);
  });
});

describe('deadline', () => {
  it('stands still while paused', async () => {
    await startAgent(world, sh('sleep 1000'), { deadlineMs: 400, graceMs: 100 });
    await KeeperClient.pause(world.dir);
    await sleep(700);
    const status = await KeeperClient.status(world.dir);
    expect(status).toMatchObject({ state: 'running', paused: true });
    await KeeperClient.unpause(world.dir);
    const exit = await KeeperClient.watch(world.dir);
    expect(exit.cause).toBe('timeout_wall');
    expect(exit.durationMs).toBeLessThan(700);
    expect(exit.durationMs).toBeGreaterThanOrEqual(400);
  });

  it('is no stop, though a stop comes after it', async () => {
    await startAgent(world, sh('trap "" TERM; echo ready; while :; do sleep 1; done'), {
      deadlineMs: 300,
      graceMs: 60_000,
    });
    await logHas('ready\n');
    await sleep(500);
    await KeeperClient.stop(world.dir, { graceMs: 0 });
    expect(await KeeperClient.watch(world.dir)).toMatchObject({ cause: 'timeout_wall', signal: 9 });
  });
});

describe('settling', () => {
  it('is refused while the agent runs, and its end takes everything with it', async () => {
    await startAgent(world, sh('sleep 0.3'));
    await expect(KeeperClient.end(world.dir)).rejects.toMatchObject({ code: 'busy' });
    await KeeperClient.watch(world.dir);
    expect((await KeeperClient.status(world.dir)).state).toBe('settling');
    const left = await KeeperClient.exec(world.dir, execSpec(world, sh(DAEMON)));
    left.stdout.resume();
    left.stderr.resume();
    await left.result;
    await KeeperClient.end(world.dir);
    expect(processesIn(world.dir)).toEqual([]);
    expect(alive(world.pids[1]!)).toBe(false);
    expect(existsSync(join(world.dir, 'keeper.sock'))).toBe(false);
  });

  it('spares the commands that run beside the agent when the agent ends', async () => {
    await startAgent(world, sh('sleep 0.3'));
    const side = await KeeperClient.exec(world.dir, execSpec(world, sh('sleep 1; echo spared')));
    const agent = await KeeperClient.exec(world.dir, execSpec(world, sh('sleep 1; echo no'), { group: 'agent' }));
    const out = side.stdout.toArray();
    agent.stdout.resume();
    expect(await agent.result).toMatchObject({ signal: 9 });
    expect(await side.result).toMatchObject({ code: 0 });
    expect(String(await out)).toBe('spared\n');
  });

  it('ends by itself when nobody comes', async () => {
    await startAgent(world, sh('exit 0'), { settleMs: 1000 });
    await KeeperClient.watch(world.dir);
    await expect.poll(() => world.pids.filter(alive), { timeout: 4000 }).toEqual([]);
    expect(await readExitRecord(world.dir)).toMatchObject({ code: 0 });
  });
});

describe('survival', () => {
  it('a keeper that is killed takes its agent with it', async () => {
    await startAgent(world, sh(`${DAEMON.repeat(3)} sleep 1000`));
    await expect.poll(() => processesIn(world.dir).length).toBeGreaterThan(9);
    process.kill(world.pids[0]!, 'SIGKILL');
    await expect.poll(() => processesIn(world.dir)).toEqual([]);
    await expect(KeeperClient.status(world.dir)).rejects.toMatchObject({ code: 'keeper_gone' });
  });

  it('an init that is killed leaves a record that says so, and no process', async () => {
    await startAgent(world, sh(`echo seen; ${DAEMON.repeat(3)} sleep 1000`));
    await expect.poll(() => processesIn(world.dir).length).toBeGreaterThan(9);
    process.kill(world.pids[1]!, 'SIGKILL');
    await expect.poll(() => readExitRecord(world.dir)).toMatchObject({ code: null, signal: null, cause: 'init_lost' });
    expect(processesIn(world.dir)).toEqual([]);
    expect(await readFile(join(world.dir, 'stdout.log'), 'utf8')).toBe('seen\n');
    await expect.poll(() => world.pids.filter(alive)).toEqual([]);
  });

  it('the death of the process that started it changes nothing', async () => {
    const spec = encodeRecords(specRecords(specOf(world, sh('sleep 0.5; echo on; exit 3')))).toString('base64');
    const starter = spawn(
      process.execPath,
      [
        '-e',
        `const { spawn } = require('node:child_process');
         const child = spawn(process.argv[1], ['run', '--spec-fd', '3', '--report-fd', '4'],
           { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: {} });
         child.stdio[3].end(Buffer.from(process.argv[2], 'base64'));
         child.stdio[4].on('data', () => console.log('started'));
         setInterval(() => {}, 1000);`,
        keeperBinary(),
        spec,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await new Promise((resolve) => starter.stdout.once('data', resolve));
    starter.kill('SIGKILL');
    expect(await KeeperClient.watch(world.dir)).toMatchObject({ code: 3, cause: 'exit' });
    expect(await readFile(join(world.dir, 'stdout.log'), 'utf8')).toBe('on\n');
  });

  it('a directory that vanished ends the keeper with its agent, without a busy loop', async () => {
    await startAgent(world, sh('while [ -e "$DROVER_TEST_DIR" ]; do sleep 0.05; done; sleep 0.5'));
    await rm(world.dir, { recursive: true });
    const before = cpuTicks(world.pids[0]!);
    await sleep(300);
    expect(cpuTicks(world.pids[0]!) - before).toBeLessThan(5);
    await expect.poll(() => world.pids.filter(alive), { timeout: 5000 }).toEqual([]);
  });
});
