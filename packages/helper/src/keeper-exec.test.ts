import { createHash } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { KeeperClient } from './index.ts';
import {
  alive,
  collect,
  execSpec,
  keeperWorld,
  limitKb,
  processesIn,
  rssKb,
  sh,
  sleep,
  startAgent,
} from './testing/keeper-world.ts';

const world = keeperWorld();
const exec = (script: string, more = {}) => KeeperClient.exec(world.dir, execSpec(world, sh(script), more));

/** `count` blocks of 64 KiB that differ, and their hash once they are read. */
function blocks(count: number): { stream: Readable; hash: () => string } {
  const hash = createHash('sha256');
  const make = function* (): Generator<Buffer> {
    for (let i = 0; i < count; i++) {
      const block = Buffer.alloc(65536, `block ${i} \0\r\n\xff`, 'latin1');
      hash.update(block);
      yield block;
    }
  };
  return { stream: Readable.from(make()), hash: () => hash.digest('hex') };
}

describe('exec', () => {
  it('runs while the agent runs and after it has ended', async () => {
    await startAgent(world, sh('sleep 0.3'));
    for (const phase of ['running', 'settling']) {
      if (phase === 'settling') await KeeperClient.watch(world.dir);
      const child = await exec('cat');
      const sent = Buffer.alloc(3_000_000, 'drover\0\n\xff', 'latin1');
      child.stdin.end(sent);
      const [out] = await Promise.all([collect(child.stdout), collect(child.stderr)]);
      expect(out.equals(sent), phase).toBe(true);
      expect(await child.result).toMatchObject({ code: 0, signal: null });
    }
  });

  it('carries 200 MB there and back unchanged, in little memory', async () => {
    await startAgent(world, sh('sleep 1000'));
    const child = await exec('cat');
    const { stream, hash } = blocks(3200);
    const back = createHash('sha256');
    const begun = Date.now();
    const reading = (async () => {
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) back.update(chunk);
    })();
    child.stderr.resume();
    await Promise.all([pipeline(stream, child.stdin), reading]);
    expect(await child.result).toMatchObject({ code: 0 });
    expect(back.digest('hex')).toBe(hash());
    expect(rssKb(world.pids[0]!, 'VmHWM')).toBeLessThan(limitKb(3072));
    console.log(`200 MB both ways: ${Date.now() - begun} ms`);
  });

  it('makes the command wait for a reader that stands still, and the keeper keeps nothing', async () => {
    await startAgent(world, sh('sleep 1000'));
    const child = await exec('head -c 50000000 /dev/zero; echo done >&2');
    await sleep(500);
    expect(rssKb(world.pids[0]!)).toBeLessThan(limitKb(3072));
    expect(child.stderr.readableLength).toBe(0);
    let length = 0;
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) length += chunk.length;
    expect(length).toBe(50_000_000);
    expect(String(await collect(child.stderr))).toBe('done\n');
  });

  it('makes the writer wait for a command that does not read', async () => {
    await startAgent(world, sh('sleep 1000'));
    const child = await exec('sleep 1; wc -c');
    const { stream } = blocks(400);
    const source = stream.pipe(new PassThrough());
    const writing = pipeline(source, child.stdin);
    await sleep(400);
    expect(child.stdin.writableLength + source.readableLength).toBeLessThan(400 * 65536);
    expect(rssKb(world.pids[0]!)).toBeLessThan(limitKb(3072));
    await writing;
    expect(String(await collect(child.stdout)).trim()).toBe(String(400 * 65536));
  });

  it('ends well when the command does not want all of its input', async () => {
    await startAgent(world, sh('sleep 1000'));
    for (let i = 0; i < 10; i++) {
      const child = await exec('head -c 5; exit 3');
      const { stream } = blocks(320);
      const writing = pipeline(stream, child.stdin);
      child.stderr.resume();
      expect((await collect(child.stdout)).toString()).toBe('block');
      expect(await child.result).toMatchObject({ code: 3 });
      await writing;
    }
  });

  it('tells code, signal and both outputs apart', async () => {
    await startAgent(world, sh('sleep 1000'));
    const child = await exec('echo out; echo err >&2; exit 9', { group: 'agent' });
    const [out, err, result] = await Promise.all([collect(child.stdout), collect(child.stderr), child.result]);
    expect([out.toString(), err.toString(), result.code]).toEqual(['out\n', 'err\n', 9]);
    const killed = await exec('kill -TERM $$');
    killed.stdout.resume();
    killed.stderr.resume();
    expect(await killed.result).toMatchObject({ code: null, signal: 15 });
  });

  it('gives each output its turn', async () => {
    await startAgent(world, sh('sleep 1000'));
    const child = await exec('(while :; do head -c 65536 /dev/zero || exit; done) & sleep 0.3; echo here >&2; sleep 5');
    child.stdout.resume();
    const [first] = await child.stderr.take(1).toArray();
    expect(String(first)).toBe('here\n');
    child.kill();
  });

  it('does not wait long for a process that was left behind with its output open', async () => {
    await startAgent(world, sh('sleep 1000'));
    const begun = Date.now();
    const child = await exec('head -c 3000000 /dev/zero; (while sleep 0.1; do echo late; done) & exit 2');
    await sleep(1500);
    child.stderr.resume();
    const out = await collect(child.stdout);
    expect(await child.result).toMatchObject({ code: 2 });
    expect(out.subarray(0, 3_000_000).equals(Buffer.alloc(3_000_000))).toBe(true);
    expect(Date.now() - begun).toBeLessThan(6000);
  });

  it('names what could not be started', async () => {
    await startAgent(world, sh('sleep 1000'));
    const spec = execSpec(world, ['/no/such/program']);
    await expect(KeeperClient.exec(world.dir, spec)).rejects.toMatchObject({ code: 'spawn_failed' });
    await expect(KeeperClient.exec(world.dir, { ...spec, cwd: 'relative' })).rejects.toMatchObject({
      code: 'bad_request',
    });
    await expect(KeeperClient.exec(world.dir, { ...spec, argv: ['x'.repeat(70_000)] })).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('finds its program by its own PATH', async () => {
    await startAgent(world, sh('sleep 1000'));
    const spec = execSpec(world, ['sh', '-c', 'true']);
    const { DROVER_TEST_DIR } = spec.env;
    await expect(
      KeeperClient.exec(world.dir, { ...spec, env: { PATH: '/no/such', DROVER_TEST_DIR: DROVER_TEST_DIR! } }),
    ).rejects.toMatchObject({ code: 'spawn_failed' });
  });

  it('ends with its client, its whole session', async () => {
    await startAgent(world, ['sleep', '1000']);
    const child = await exec('set -m; sleep 1000 & (sleep 1000 | sleep 1000) & echo up; wait');
    await child.stdout.take(1).toArray();
    await expect.poll(() => processesIn(world.dir).length).toBeGreaterThan(4);
    child.kill();
    await expect.poll(() => processesIn(world.dir).length).toBe(1);
    await expect(child.result).rejects.toMatchObject({ code: 'keeper_gone' });
  });

  it('ends when it is given up, at once or later', async () => {
    await startAgent(world, sh('sleep 1000'));
    const given = new AbortController();
    const child = await exec('echo $$; exec sleep 1000', { signal: given.signal });
    const [first] = await child.stdout.take(1).toArray();
    given.abort();
    await expect(child.result).rejects.toMatchObject({ code: 'aborted' });
    await expect.poll(() => alive(Number(first))).toBe(false);
    await expect(exec('true', { signal: given.signal })).rejects.toMatchObject({ code: 'aborted' });
  });

  it('is ended at its time limit', async () => {
    await startAgent(world, sh('sleep 1000'));
    const child = await exec('sleep 1000', { timeoutMs: 100 });
    child.stdout.resume();
    child.stderr.resume();
    expect(await child.result).toMatchObject({ signal: 9 });
  });

  it('serves twenty at a time', async () => {
    await startAgent(world, sh('sleep 1000'));
    const runs = Array.from({ length: 20 }, async (_, i) => {
      const child = await exec(`head -c 500000 /dev/zero | tr "\\0" ${String.fromCharCode(97 + i)}`);
      child.stderr.resume();
      return collect(child.stdout);
    });
    const outputs = await Promise.all(runs);
    for (const [i, out] of outputs.entries()) expect(out.equals(Buffer.alloc(500_000, 97 + i))).toBe(true);
  });
});
