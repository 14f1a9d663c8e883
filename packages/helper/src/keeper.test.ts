import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeeperClient, KeeperError, type KeeperSpec, readExitRecord, startBasicKeeper } from './index.ts';

let dir: string;
let pids: number[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'drover-keeper-'));
  pids = [];
});

afterEach(async () => {
  await KeeperClient.stop(dir, { graceMs: 0 }).catch(() => undefined);
  await KeeperClient.watch(dir).catch(() => undefined);
  await KeeperClient.end(dir).catch(() => undefined);
  await expect.poll(() => pids.filter(alive), { message: 'processes left behind' }).toEqual([]);
  await rm(dir, { recursive: true });
});

/** A zombie is dead: whose child it was reaps it when it likes. */
function alive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function start(argv: string[], more: Partial<KeeperSpec> = {}): Promise<void> {
  const { keeperPid, initPid } = await startBasicKeeper({
    dir,
    argv,
    env: { PATH: process.env.PATH! },
    cwd: '/',
    ...more,
  });
  pids.push(keeperPid, initPid);
}

const sh = (script: string): string[] => ['sh', '-c', script];

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('exit record', () => {
  it('has the exit code', async () => {
    await start(sh('exit 7'));
    expect(await KeeperClient.watch(dir)).toMatchObject({ code: 7, signal: null, cause: 'exit' });
    expect(await readExitRecord(dir)).toMatchObject({ code: 7, cause: 'exit' });
  });

  it('has the signal', async () => {
    await start(sh('kill -SEGV $$'));
    expect(await KeeperClient.watch(dir)).toMatchObject({ code: null, signal: 11 });
  });

  it('stands only after orphans are dead and their output is in the log', async () => {
    await start(
      sh('for i in 1 2 3 4 5; do setsid sh -c "trap \'\' TERM; echo $i; sleep 1000" & done; sleep 0.3; exit 0'),
    );
    await KeeperClient.watch(dir);
    expect((await readFile(join(dir, 'stdout.log'), 'utf8')).split('\n').filter(Boolean).sort()).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
    const { initPid } = await KeeperClient.status(dir);
    expect((await readFile(`/proc/${initPid}/task/${initPid}/children`, 'utf8')).trim()).toBe('');
  });

  it('names a program that does not exist', async () => {
    await expect(start(['/no/such/program'])).rejects.toMatchObject({
      code: 'spawn_failed',
      message: expect.stringContaining('No such file'),
    });
  });
});

describe('output', () => {
  it('is complete, byte for byte, when stdout and stderr are kept apart', async () => {
    await start(['sh', '-c', 'head -c 20000000 /dev/urandom | tee /proc/self/fd/2'], { stderr: 'split' });
    const exit = await KeeperClient.watch(dir);
    const [out, err] = await Promise.all([readFile(join(dir, 'stdout.log')), readFile(join(dir, 'stderr.log'))]);
    expect(out.length).toBe(20_000_000);
    expect(exit.stdoutBytes).toBe(20_000_000);
    expect(createHash('sha256').update(out).digest('hex')).toBe(createHash('sha256').update(err).digest('hex'));
  });

  it('keeps the order of stdout and stderr when they are merged', async () => {
    await start(sh('for i in 1 2 3; do echo o$i; echo e$i >&2; done'));
    await KeeperClient.watch(dir);
    expect(await readFile(join(dir, 'stdout.log'), 'utf8')).toBe('o1\ne1\no2\ne2\no3\ne3\n');
  });

  it('reaches a viewer from any offset on, to its end', async () => {
    await start(sh('i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done; sleep 0.2; echo last'));
    const view = await KeeperClient.attach(dir, { mode: 'ro', offset: 5 });
    const seen = await collect(view.output);
    await view.exit;
    expect(seen.equals((await readFile(join(dir, 'stdout.log'))).subarray(5))).toBe(true);
  });
});

describe('terminal', () => {
  it('is a controlling terminal of the right size', async () => {
    await start(sh('stty size; tty >/dev/null && echo yes; echo >/dev/tty ok'), { tty: true, rows: 31, cols: 97 });
    await KeeperClient.watch(dir);
    expect(await readFile(join(dir, 'stdout.log'), 'latin1')).toBe('31 97\r\nyes\r\nok\r\n');
  });

  it('carries input of an attached client and the interrupt key', async () => {
    await start(sh('trap "echo got INT; exit 3" INT; read x; echo "x=$x"; while :; do sleep 1; done'), { tty: true });
    const view = await KeeperClient.attach(dir, { mode: 'rw', offset: 0 });
    view.input.write('hello\n');
    let text = '';
    for await (const chunk of view.output as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (text.includes('x=hello\r\n') && !text.includes('^C')) view.input.write('\x03');
    }
    expect(text).toContain('got INT');
    expect(await view.exit).toMatchObject({ code: 3 });
  });
});

describe('stop', () => {
  it('gives the agent its grace', async () => {
    await start(sh('trap "echo bye; exit 0" TERM; while :; do sleep 0.05; done'));
    await KeeperClient.stop(dir, { graceMs: 5000 });
    expect(await KeeperClient.watch(dir)).toMatchObject({ code: 0, cause: 'stop' });
    expect(await readFile(join(dir, 'stdout.log'), 'utf8')).toContain('bye');
  });

  it('kills what ignores SIGTERM: 20 double-forked daemons in sessions of their own', async () => {
    const daemon = `setsid sh -c 'trap "" TERM INT HUP; (trap "" TERM; while :; do sleep 1000; done) & while :; do sleep 1000; done' &`;
    await start(sh(`trap '' TERM; ${daemon.repeat(20)} echo ready; while :; do sleep 1000; done`));
    await expect.poll(async () => (await KeeperClient.status(dir)).stdoutBytes).toBe(6);
    await KeeperClient.stop(dir, { graceMs: 100 });
    expect(await KeeperClient.watch(dir)).toMatchObject({ signal: 9, cause: 'stop' });
  });

  it('comes by itself at the deadline, which stands still while paused', async () => {
    await start(sh('sleep 1000'), { deadlineMs: 400, graceMs: 100 });
    await KeeperClient.pause(dir);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect((await KeeperClient.status(dir)).state).toBe('running');
    await KeeperClient.unpause(dir);
    const exit = await KeeperClient.watch(dir);
    expect(exit.cause).toBe('timeout_wall');
    expect(exit.durationMs).toBeLessThan(700);
  });
});

describe('exec', () => {
  it('runs while the agent runs and after it has ended, with exact bytes both ways', async () => {
    await start(sh('sleep 0.3'));
    for (const phase of ['running', 'settling']) {
      if (phase === 'settling') await KeeperClient.watch(dir);
      const child = await KeeperClient.exec(dir, {
        argv: ['cat'],
        env: { PATH: process.env.PATH! },
        cwd: '/',
        group: 'side',
      });
      const sent = Buffer.alloc(3_000_000, 'drover\0\n\xff', 'latin1');
      child.stdin.end(sent);
      const [out] = await Promise.all([collect(child.stdout), collect(child.stderr)]);
      expect(out.equals(sent), phase).toBe(true);
      expect(await child.result).toMatchObject({ code: 0, signal: null });
    }
  });

  it('tells code and both outputs apart', async () => {
    await start(sh('sleep 5'));
    const child = await KeeperClient.exec(dir, {
      argv: sh('echo out; echo err >&2; exit 9'),
      env: { PATH: process.env.PATH! },
      cwd: '/',
      group: 'agent',
    });
    child.stdin.end();
    const [out, err, result] = await Promise.all([collect(child.stdout), collect(child.stderr), child.result]);
    expect([out.toString(), err.toString(), result.code]).toEqual(['out\n', 'err\n', 9]);
  });

  it('ends with its client', async () => {
    await start(sh('sleep 5'));
    const child = await KeeperClient.exec(dir, {
      argv: sh('echo $$; exec sleep 1000'),
      env: { PATH: process.env.PATH! },
      cwd: '/',
      group: 'side',
    });
    const [first] = await child.stdout.take(1).toArray();
    const pid = Number(String(first).trim());
    child.kill();
    await expect.poll(() => alive(pid)).toBe(false);
  });

  it('is ended at its time limit', async () => {
    await start(sh('sleep 5'));
    const child = await KeeperClient.exec(dir, {
      argv: ['sleep', '1000'],
      env: { PATH: process.env.PATH! },
      cwd: '/',
      group: 'side',
      timeoutMs: 100,
    });
    child.stdout.resume();
    child.stderr.resume();
    expect(await child.result).toMatchObject({ signal: 9 });
  });
});

describe('survival', () => {
  it('a keeper that dies takes its agent with it', async () => {
    await start(sh('sleep 1000'));
    const { pid } = await KeeperClient.status(dir);
    process.kill(pids[0]!, 'SIGKILL');
    await expect.poll(() => alive(pid)).toBe(false);
    await expect(KeeperClient.status(dir)).rejects.toMatchObject({ code: 'keeper_gone' });
  });

  it('an init that dies leaves a record that says so', async () => {
    await start(sh('sleep 1000'));
    const { pid, initPid } = await KeeperClient.status(dir);
    process.kill(initPid, 'SIGKILL');
    await expect.poll(() => readExitRecord(dir)).toMatchObject({ code: null, signal: null, cause: 'init_lost' });
    await expect.poll(() => alive(pid)).toBe(false);
  });

  it('a second keeper in the same directory is refused', async () => {
    await start(sh('sleep 5'));
    await expect(startBasicKeeper({ dir, argv: ['true'], env: {}, cwd: '/' })).rejects.toBeInstanceOf(KeeperError);
    expect((await KeeperClient.status(dir)).state).toBe('running');
  });
});

describe('agent', () => {
  it('gets exactly the environment and the descriptors 0, 1 and 2', async () => {
    await start(['/bin/sh', '-c', '/usr/bin/env; ls /proc/self/fd'], { env: { A: 'x=y\n z', PATH: '/usr/bin:/bin' } });
    await KeeperClient.watch(dir);
    const lines = (await readFile(join(dir, 'stdout.log'), 'utf8')).trim().split('\n');
    expect(lines.filter((line) => !/^(PWD|SHLVL|_)=/.test(line))).toEqual([
      'A=x=y',
      ' z',
      'PATH=/usr/bin:/bin',
      '0',
      '1',
      '2',
      '3',
    ]);
  });
});
