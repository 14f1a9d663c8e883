import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeeperClient, type KeeperSpec, startBasicKeeper } from '@drover/helper';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LogPlace } from '../../core/src/api/index.ts';
import { CliWorld } from '../testing/cli-world.ts';

let world: CliWorld;
let dir: string;
beforeEach(async () => {
  world = new CliWorld();
  await world.serve();
  dir = join(world.dir, 'attempt');
  mkdirSync(dir);
});
afterEach(async () => {
  await KeeperClient.stop(dir, { graceMs: 0 }).catch(() => {});
  await KeeperClient.watch(dir).catch(() => {});
  await KeeperClient.end(dir).catch(() => {});
  await world.dispose();
});

const place = (change: Partial<LogPlace> = {}): void => {
  world.engine.put('demo/a', { state: 'active', attemptState: 'running' });
  const stdout = join(dir, 'stdout.log');
  const whole = { attempt: 'a1', directory: dir, stdout, stderr: null, exec: [], live: false, tty: false } as const;
  world.engine.places.set('demo/a', { ...whole, exec: [], format: 'text', ...change });
};

const agent = async (script: string, more: Partial<KeeperSpec> = {}) => {
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm' };
  await startBasicKeeper({ dir, argv: ['sh', '-c', script], env, cwd: '/', ...more });
};

describe('logs', () => {
  test('lines without control characters; --raw has every byte', async () => {
    place();
    const bytes = 'one\u001b]0;owned\u0007\r\n\u001b[31mtwo\u001b[0m\r10%\r100%\nthree é ✓';
    writeFileSync(join(dir, 'stdout.log'), bytes);
    expect((await world.run(['logs', 'demo/a'])).stdout).toBe('one\ntwo\n10%\n100%\nthree é ✓\n');
    expect((await world.run(['logs', 'demo/a', '--raw'])).stdout).toBe(bytes);
    const json = (await world.run(['logs', 'demo/a', '--json'])).stdout.trimEnd().split('\n');
    expect(JSON.parse(json[0] as string)).toEqual({ source: 'stdout', line: 'one' });
  });

  test('a large log streams: memory does not grow with it', async () => {
    place();
    const line = `${'x'.repeat(999)}\n`;
    writeFileSync(join(dir, 'stdout.log'), line.repeat(100_000));
    const { stdout } = await world.run(['logs', 'demo/a'], { NODE_OPTIONS: '--max-old-space-size=40' });
    expect(stdout.length).toBe(100_000_000);
  });

  test('stderr, setup and verify', async () => {
    place({
      stderr: join(dir, 'stderr.log'),
      exec: [
        { name: 'setup-1', path: join(dir, 's1') },
        { name: 'setup-2', path: join(dir, 's2') },
        { name: 'verify', path: join(dir, 'v') },
      ],
    });
    for (const [name, text] of [
      ['stderr.log', 'oops\n'],
      ['s1', 'first\n'],
      ['s2', 'second\n'],
      ['v', 'failed\n'],
    ] as const) {
      writeFileSync(join(dir, name), text);
    }
    expect((await world.run(['logs', 'demo/a', '--stderr'])).stdout).toBe('oops\n');
    expect((await world.run(['logs', 'demo/a', '--verify'])).stdout).toBe('failed\n');
    expect((await world.run(['logs', 'demo/a', '--setup'])).stdout).toBe(
      '==> setup-1 <==\nfirst\n==> setup-2 <==\nsecond\n',
    );
  });

  test('what is not there: exit 4', async () => {
    place();
    for (const flags of [[], ['--stderr'], ['--verify']]) {
      const { code, stderr } = await world.run(['logs', 'demo/a', ...flags, '--json']);
      expect([flags, code, JSON.parse(stderr).error.code]).toEqual([flags, 4, 'no_log']);
    }
  });

  test('-f shows what was written and what comes, until the agent ends', async () => {
    await agent('echo before; while ! [ -e go ]; do sleep 0.05; done; echo after; exit 3', { cwd: world.dir });
    place({ live: true });
    const logs = world.start(['logs', 'demo/a', '-f']);
    await logs.until('before');
    writeFileSync(join(world.dir, 'go'), '');
    expect(await logs.result).toEqual({ code: 0, stdout: 'before\nafter\n', stderr: '' });
  });

  test('-f of another file reads it as it grows, until the attempt ends', async () => {
    place({ live: true, stderr: join(dir, 'stderr.log') });
    writeFileSync(join(dir, 'stderr.log'), 'one\n');
    const logs = world.start(['logs', 'demo/a', '-f', '--stderr']);
    await logs.until('one');
    appendFileSync(join(dir, 'stderr.log'), 'two\n');
    await logs.until('two');
    world.engine.put('demo/a', { state: 'ended', outcome: 'ok' });
    world.engine.emit('task_ended', 'demo/a', 'ended');
    expect((await logs.result).stdout).toBe('one\ntwo\n');
  });

  test('-f and Ctrl-C: exit 130', async () => {
    await agent('echo here; sleep 100');
    place({ live: true });
    const logs = world.start(['logs', 'demo/a', '-f']);
    await logs.until('here');
    logs.child.kill('SIGINT');
    expect((await logs.result).code).toBe(130);
  });
});

describe('attach', () => {
  test('shows what was, passes keys, resizes, and leaves with Ctrl-]', async () => {
    await agent('echo welcome; while read -r line; do echo "got $line"; stty size; done', { tty: true });
    place({ live: true, tty: true });
    const run = world.terminal(['attach', 'demo/a'], { cols: 80, rows: 24 });
    await run.until('welcome');
    run.type('hello\r');
    await run.until(/got hello\n24 80/);
    run.resize(100, 30);
    await run.until('leaves');
    // When the new size arrives is not told: it is asked for until it is there.
    const asking = setInterval(() => run.type('again\r'), 200);
    await run.until(/got again\n30 100/);
    clearInterval(asking);
    run.type('\u001d');
    expect(await run.exit).toBe(0);
    expect(run.lines().join('\n')).toContain('[left demo/a; it goes on]');
    expect((await KeeperClient.status(dir)).state).toBe('running');
  });

  test('another key leaves, Ctrl-C is the agent’s, and its end is told', async () => {
    await agent("trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.05; done", { tty: true });
    place({ live: true, tty: true });
    const run = world.terminal(['attach', 'demo/a', '--detach-key', 'ctrl-q'], { cols: 80, rows: 24 });
    await run.until('ready');
    run.type('\u001d');
    run.type('\u0003');
    await run.until('interrupted');
    expect(await run.exit).toBe(0);
    expect(run.lines().join('\n')).toContain('[demo/a has ended: exit code 9]');
  });

  test('an agent without a terminal is watched', async () => {
    await agent('echo output; sleep 100');
    place({ live: true });
    const run = world.terminal(['attach', 'demo/a'], { cols: 80, rows: 24 });
    await run.until('output');
    expect(run.lines().join('\n')).toContain('no terminal');
    run.type('\u001d');
    expect(await run.exit).toBe(0);
  });

  test('what does not run: exit 5', async () => {
    place();
    const { code, stderr } = await world.run(['attach', 'demo/a']);
    expect(code).toBe(5);
    expect(stderr).toContain('drover logs demo/a');
  });
});
