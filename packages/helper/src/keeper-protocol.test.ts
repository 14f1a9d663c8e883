import type { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeRecords, encodeRecords, getRecord, KeeperClient, type RecordList } from './index.ts';
import { encodeFrame, FrameReader } from './keeper-frames.ts';
import {
  alive,
  cpuTicks,
  keeperWorld,
  limitKb,
  rawConnection,
  rssKb,
  sh,
  sleep,
  startAgent,
} from './testing/keeper-world.ts';

const world = keeperWorld();

/** Sends bytes and returns the first answer, or null when the connection was closed without one. */
async function answerTo(bytes: Uint8Array): Promise<RecordList | null> {
  const socket = await rawConnection(world);
  const reader = new FrameReader();
  socket.on('error', () => undefined);
  const answer = new Promise<RecordList | null>((resolve) => {
    socket.on('data', (data: Buffer) => {
      const [frame] = reader.push(data);
      if (frame) resolve(decodeRecords(frame.payload));
    });
    socket.once('close', () => resolve(null));
  });
  socket.write(bytes);
  const result = await answer;
  socket.destroy();
  return result;
}

const request = (...records: [string, string][]): Buffer => encodeFrame('R', encodeRecords(records));

describe('a request', () => {
  it.each([
    ['an unknown op', request(['op', 'dance']), 'unknown_op'],
    ['no op', request(['mode', 'ro']), 'unknown_op'],
    ['an unknown key', request(['op', 'status'], ['colour', 'red']), 'bad_request'],
    ['a key of another op', request(['op', 'stop'], ['rows', '3']), 'bad_request'],
    ['a key twice', request(['op', 'stop'], ['grace_ms', '1'], ['grace_ms', '2']), 'bad_request'],
    ['op twice', request(['op', 'status'], ['op', 'stop']), 'bad_request'],
    ['a number with a sign', request(['op', 'stop'], ['grace_ms', '-1']), 'bad_request'],
    ['a number with a leading zero', request(['op', 'stop'], ['grace_ms', '010']), 'bad_request'],
    ['a number that is too large', request(['op', 'stop'], ['grace_ms', '99999999999999999999999']), 'bad_request'],
    ['exec without a command', request(['op', 'exec'], ['cwd', '/'], ['group', 'side']), 'bad_request'],
    [
      'exec in a group that is none',
      request(['op', 'exec'], ['cwd', '/'], ['group', '../x'], ['arg', 'a']),
      'bad_request',
    ],
    ['attach in a mode that is none', request(['op', 'attach'], ['mode', 'x']), 'bad_request'],
    ['records without an end', encodeFrame('R', Buffer.from('op=status')), 'bad_frame'],
    ['an empty record list', encodeFrame('R', Buffer.alloc(0)), 'bad_frame'],
    ['another type of frame', encodeFrame('I', Buffer.from('hello')), 'bad_frame'],
    ['a frame that is too long', Buffer.from([2, 0, 1, 0, 0x52]), 'bad_frame'],
    ['a frame without a type', Buffer.from([0, 0, 0, 0, 0x52]), 'bad_frame'],
  ])('with %s is refused', async (_what, bytes, code) => {
    await startAgent(world, sh('sleep 1000'));
    const answer = await answerTo(bytes);
    expect(getRecord(answer!, 'error')).toBe(code);
    expect(getRecord(answer!, 'message')).not.toBe('');
    expect((await KeeperClient.status(world.dir)).state).toBe('running');
  });

  it('may come in single bytes', async () => {
    await startAgent(world, sh('sleep 1000'));
    const socket = await rawConnection(world);
    for (const byte of request(['op', 'status'])) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const data = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    expect(data.toString('latin1')).toContain('state=running');
    socket.destroy();
  });
});

describe('nonsense', () => {
  const begin = fc.oneof(
    fc.constant(Buffer.alloc(0)),
    fc.constant(request(['op', 'watch'])),
    fc.constant(request(['op', 'attach'], ['mode', 'ro'], ['offset', '0'])),
    fc.constant(request(['op', 'exec'], ['cwd', '/'], ['group', 'side'], ['arg', '/bin/cat'])),
  );
  const frame = fc
    .tuple(fc.constantFrom(...'RAOEIVQ'), fc.uint8Array({ maxLength: 300 }))
    .map(([type, bytes]) => encodeFrame(type as 'R', bytes));
  const bytes = fc.oneof(fc.uint8Array({ maxLength: 500 }), frame);

  it('never harms the agent, whatever it is, and leaves no command', async () => {
    await startAgent(world, sh('sleep 1000'));
    const open: Socket[] = [];
    await fc.assert(
      fc.asyncProperty(begin, fc.array(bytes, { maxLength: 5 }), fc.boolean(), async (first, rest, stay) => {
        const socket = await rawConnection(world);
        socket.on('error', () => undefined);
        socket.resume();
        socket.write(Buffer.concat([first, ...rest]));
        if (stay && open.length < 10) open.push(socket);
        else socket.destroy();
        expect((await KeeperClient.status(world.dir)).state).toBe('running');
      }),
      { numRuns: 400 },
    );
    for (const socket of open) socket.destroy();
    expect(world.pids.every(alive)).toBe(true);
    expect(rssKb(world.pids[0]!)).toBeLessThan(limitKb(4096));
    await sleep(300);
    const before = cpuTicks(world.pids[0]!);
    await sleep(300);
    expect(cpuTicks(world.pids[0]!) - before).toBeLessThan(3);
  });
});

describe('memory', () => {
  it('of an idle keeper and its init is small', async () => {
    await startAgent(world, sh('sleep 1000'));
    await KeeperClient.status(world.dir);
    const [keeper, init] = world.pids.map((pid) => [rssKb(pid), rssKb(pid, 'RssAnon')]);
    console.log(`keeper: ${keeper![0]} KiB, ${keeper![1]} its own; init: ${init![0]} KiB, ${init![1]} its own`);
    expect(keeper![0]).toBeLessThan(limitKb(1500));
    expect(init![0]).toBeLessThan(limitKb(1500));
  });
});
