import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KeeperClient } from './index.ts';
import { collect, execSpec, keeperWorld, node, sh, sleep, startAgent } from './testing/keeper-world.ts';

const world = keeperWorld();
const log = (): Promise<string> => readFile(join(world.dir, 'stdout.log'), 'utf8');
const terminal = { tty: true, rows: 31, cols: 97 };

describe('the terminal', () => {
  it('is one to the agent: all three descriptors, its controlling one, of the right size', async () => {
    await startAgent(
      world,
      sh('stty size; test -t 0 && test -t 1 && test -t 2 && echo all; echo >/dev/tty ok'),
      terminal,
    );
    await KeeperClient.watch(world.dir);
    expect(await log()).toBe('31 97\r\nall\r\nok\r\n');
  });

  it('is one to Node, with colours and columns', async () => {
    await startAgent(
      world,
      node('console.log(process.stdin.isTTY, process.stdout.isTTY, process.stdout.columns)'),
      terminal,
    );
    await KeeperClient.watch(world.dir);
    expect(await log()).toBe('true true 97\r\n');
  });

  it('carries input and the interrupt key', async () => {
    await startAgent(
      world,
      sh('trap "echo got INT; exit 3" INT; read x; echo "x=$x"; while :; do sleep 0.1; done'),
      terminal,
    );
    const view = await KeeperClient.attach(world.dir, { mode: 'rw', offset: 0 });
    view.input.write('hello\n');
    let text = '';
    for await (const chunk of view.output as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (text.includes('x=hello\r\n') && !text.includes('^C')) view.input.write('\x03');
    }
    expect(text).toContain('got INT');
    expect(await view.exit).toMatchObject({ code: 3 });
  });

  it('has job control', async () => {
    await startAgent(world, ['bash', '--norc', '-i'], terminal);
    const view = await KeeperClient.attach(world.dir, { mode: 'rw', offset: 0 });
    const seen = collect(view.output);
    view.input.write('sleep 1000\n');
    await sleep(500);
    view.input.write('\x1a');
    await expect.poll(log).toContain('Stopped');
    view.input.write('jobs; kill %1; fg; exit 4\n');
    const exit = await view.exit;
    expect(exit).toMatchObject({ code: 4 });
    expect(String(await seen)).not.toContain('no job control');
  });

  it('tells a new size to the agent and to the viewers', async () => {
    await startAgent(world, sh('trap "stty size; exit 0" WINCH; echo ready; while :; do sleep 0.05; done'), terminal);
    await expect.poll(log).toContain('ready');
    const sizes: object[] = [];
    const view = await KeeperClient.attach(world.dir, { mode: 'ro', onResize: (size) => sizes.push(size) });
    expect(view.status).toMatchObject({ rows: 31, cols: 97 });
    await KeeperClient.resize(world.dir, { rows: 50, cols: 120 });
    expect(await KeeperClient.status(world.dir)).toMatchObject({ rows: 50, cols: 120 });
    expect(String(await collect(view.output))).toContain('50 120');
    expect(sizes).toEqual([{ rows: 50, cols: 120 }]);
  });

  it('takes the size of a viewer that comes with one', async () => {
    await startAgent(world, sh('read x; stty size'), terminal);
    const view = await KeeperClient.attach(world.dir, { mode: 'rw', rows: 20, cols: 40 });
    view.input.write('\n');
    await view.exit;
    expect(await log()).toContain('20 40');
  });

  it('stays when the agent closes it for a while', async () => {
    await startAgent(
      world,
      sh('exec </dev/null >/dev/null 2>&1; sleep 0.5; echo back >/dev/tty; sleep 0.2; echo again >/dev/tty; exit 7'),
      terminal,
    );
    expect(await KeeperClient.watch(world.dir)).toMatchObject({ code: 7, signal: null });
    expect(await log()).toBe('back\r\nagain\r\n');
  });

  it('can go with a prompt from a file', async () => {
    await writeFile(join(world.dir, 'stdin'), 'the prompt\n');
    await startAgent(world, sh('cat; test -t 0 || test -t 1 && echo >/dev/tty mixed'), {
      ...terminal,
      stdin: join(world.dir, 'stdin'),
    });
    await KeeperClient.watch(world.dir);
    expect(await log()).toBe('the prompt\r\nmixed\r\n');
  });

  it('makes a long paste wait for an agent that reads later, and loses none of it', async () => {
    const script = 'stty raw -echo; echo ready; sleep 0.5; head -c 300000 | sha256sum';
    await startAgent(world, sh(script), terminal);
    await expect.poll(log).toContain('ready');
    const view = await KeeperClient.attach(world.dir, { mode: 'rw', offset: 0 });
    const { createHash } = await import('node:crypto');
    const paste = Buffer.alloc(300_000, 'paste \x01\x02\xff', 'latin1');
    view.input.write(paste);
    // Others are served meanwhile.
    expect((await KeeperClient.status(world.dir)).state).toBe('running');
    await view.exit;
    expect(await log()).toContain(createHash('sha256').update(paste).digest('hex'));
  });

  it('of an agent that does not read holds up neither its output nor the stop', async () => {
    await startAgent(world, sh('stty raw -echo; echo ready; while :; do echo tick; sleep 0.05; done'), terminal);
    await expect.poll(log).toContain('ready');
    const view = await KeeperClient.attach(world.dir, { mode: 'rw', offset: 0 });
    view.input.write(Buffer.alloc(1_000_000, 'x'));
    const before = (await log()).length;
    await expect.poll(async () => (await log()).length).toBeGreaterThan(before + 20);
    await KeeperClient.stop(world.dir, { graceMs: 0 });
    view.output.resume();
    expect(await view.exit).toMatchObject({ cause: 'stop' });
  });

  it('is not written to by a viewer that only looks', async () => {
    await startAgent(world, sh('read -r x; echo "x=$x"'), terminal);
    const looker = await KeeperClient.attach(world.dir, { mode: 'ro' });
    looker.input.write('no\n');
    await sleep(200);
    const writer = await KeeperClient.attach(world.dir, { mode: 'rw', offset: 0 });
    writer.input.write('yes\n');
    await writer.exit;
    expect(await log()).toContain('x=yes');
  });

  it('is asked for in vain where there is none', async () => {
    await startAgent(world, sh('sleep 1000'));
    await expect(KeeperClient.attach(world.dir, { mode: 'rw' })).rejects.toMatchObject({ code: 'unsupported' });
    await expect(KeeperClient.resize(world.dir, { rows: 1, cols: 1 })).rejects.toMatchObject({ code: 'unsupported' });
    const child = await KeeperClient.exec(
      world.dir,
      execSpec(world, sh('test -t 0 || echo none; : 2>/dev/null >/dev/tty')),
    );
    child.stderr.resume();
    expect(String(await collect(child.stdout))).toBe('none\n');
  });
});
