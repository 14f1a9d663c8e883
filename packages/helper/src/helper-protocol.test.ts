import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { helperBinary } from './binaries.ts';
import type { HelperError } from './helper-error.ts';
import { checkRequest, OPERATIONS } from './helper-protocol.ts';
import { decodeRecords, encodeRecords, FRAME_MAX, getRecord, type RecordList } from './records.ts';
import { canRunHelper, HelperDaemon, pause, slow } from './testing/helper-daemon.ts';

describe('the table of requests', () => {
  test.skipIf(!existsSync(helperBinary()))('is the same in C and in TypeScript', () => {
    const lines = execFileSync(helperBinary(), ['--print-protocol'], { encoding: 'utf8' }).trim().split('\n');
    const native = Object.fromEntries(lines.map((line) => JSON.parse(line)).map(({ op, fields }) => [op, fields]));
    expect(native).toEqual(OPERATIONS);
  });

  test('refuses before sending what the helper would refuse', () => {
    const code = (op: Parameters<typeof checkRequest>[0], records: RecordList): string => {
      try {
        checkRequest(op, records);
        return 'ok';
      } catch (error) {
        return (error as HelperError).code;
      }
    };
    const id = 's0123456789abcdef';
    expect(
      code('kill', [
        ['sandbox', id],
        ['group', 'agent'],
      ]),
    ).toBe('ok');
    expect(
      code('kill', [
        ['sandbox', id],
        ['group', 'host'],
      ]),
    ).toBe('bad_request');
    expect(
      code('kill', [
        ['sandbox', '../..'],
        ['group', 'all'],
      ]),
    ).toBe('bad_request');
    expect(code('kill', [['group', 'all']])).toBe('bad_request');
    expect(code('list', [['pid', '1']])).toBe('bad_request');
    expect(
      code('create', [
        ['tag', 'a'],
        ['level', 'enhanced'],
        ['tag', 'b'],
      ]),
    ).toBe('bad_request');
    expect(
      code('create', [
        ['tag', 'a'],
        ['level', 'enhanced'],
        ['pids_max', 'max'],
      ]),
    ).toBe('ok');
  });
});

/** A client that says whatever it likes. */
class RawClient {
  readonly socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  ended = false;

  constructor(path: string) {
    this.socket = connect(path);
    this.socket.on('data', (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.ended = true;
    });
  }

  send(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  request(...records: (readonly [string, string])[]): void {
    const payload = encodeRecords(records);
    this.send(frame(payload));
  }

  /** The next frame, or null when the connection ended. */
  async next(): Promise<RecordList | null> {
    for (let i = 0; i < 300 * slow; i++) {
      if (this.#bytes.length >= 4 && this.#bytes.length >= 4 + this.#bytes.readUInt32LE(0)) {
        const end = 4 + this.#bytes.readUInt32LE(0);
        const list = decodeRecords(this.#bytes.subarray(4, end));
        this.#bytes = this.#bytes.subarray(end);
        return list;
      }
      if (this.ended) return null;
      await pause(10);
    }
    throw new Error('no answer');
  }
}

function frame(payload: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(payload.length);
  return Buffer.concat([header, payload]);
}

describe.skipIf(!canRunHelper)('the socket', { timeout: 60_000 * slow }, () => {
  let daemon: HelperDaemon;
  beforeAll(async () => {
    daemon = await HelperDaemon.start();
  }, 60_000 * slow);
  afterAll(() => daemon?.dispose());

  const greeted = async (): Promise<RawClient> => {
    const raw = new RawClient(daemon.socket);
    raw.request(['id', '1'], ['op', 'hello'], ['version', '1']);
    expect(getRecord((await raw.next())!, 'server')).toContain('drover-helper');
    return raw;
  };

  test('hello comes first, in a version that is known', async () => {
    const raw = new RawClient(daemon.socket);
    raw.request(['id', '7'], ['op', 'list']);
    expect(await raw.next()).toContainEqual(['error', 'hello_first']);
    raw.request(['id', '8'], ['op', 'hello'], ['version', '2']);
    expect(await raw.next()).toContainEqual(['error', 'version']);
    raw.socket.destroy();
  });

  test.each<[string, RecordList, string]>([
    ['an unknown operation', [['op', 'format_disk']], 'unknown_op'],
    [
      'an unknown key',
      [
        ['op', 'list'],
        ['uid', '0'],
      ],
      'bad_request',
    ],
    [
      'a key given twice',
      [
        ['op', 'remove'],
        ['sandbox', 's0123456789abcdef'],
        ['sandbox', 's0123456789abcdef'],
      ],
      'bad_request',
    ],
    ['a missing key', [['op', 'remove']], 'bad_request'],
    [
      'an id of another form',
      [
        ['op', 'remove'],
        ['sandbox', '../../etc'],
      ],
      'bad_request',
    ],
    [
      'an id that was never given',
      [
        ['op', 'remove'],
        ['sandbox', 's0123456789abcdef'],
      ],
      'no_such_sandbox',
    ],
    [
      'a level that is not made here',
      [
        ['op', 'create'],
        ['tag', 'x'],
        ['level', 'full'],
      ],
      'unsupported',
    ],
    [
      'a tag with a slash',
      [
        ['op', 'create'],
        ['tag', 'a/b'],
        ['level', 'enhanced'],
      ],
      'bad_request',
    ],
    [
      'two operations',
      [
        ['op', 'list'],
        ['op', 'shutdown'],
      ],
      'bad_frame',
    ],
  ])('%s is refused', async (_name, records, code) => {
    const raw = await greeted();
    raw.request(['id', '2'], ...records);
    const answer = await raw.next();
    expect(answer).toContainEqual(['id', '2']);
    expect(answer).toContainEqual(['error', code]);
    raw.socket.destroy();
  });

  test.each<[string, Buffer]>([
    ['a length of 0', Buffer.from([0, 0, 0, 0])],
    ['a length over the cap', Buffer.from([1, 0, 1, 0, 1])],
    ['the largest length', Buffer.from([255, 255, 255, 255])],
    ['bytes that are no records', frame(Buffer.from('hello\0'))],
    ['a record without its NUL', frame(Buffer.from('id=1\0op=list'))],
    ['an id that is no number', frame(Buffer.from('id=-1\0op=list\0'))],
    ['two ids', frame(Buffer.from('id=1\0id=2\0op=list\0'))],
    ['no id', frame(Buffer.from('op=list\0'))],
    ['an upper-case key', frame(Buffer.from('ID=1\0op=list\0'))],
    ['five thousand records', frame(Buffer.from(`id=1\0op=list\0${'a=\0'.repeat(5000)}`))],
  ])('%s ends the connection, and only that', async (_name, bytes) => {
    const other = await greeted();
    const raw = await greeted();
    raw.send(bytes);
    expect(await raw.next()).toBeNull();
    other.request(['id', '3'], ['op', 'list']);
    expect(await other.next()).toEqual([['id', '3']]);
    other.socket.destroy();
  });

  test('a frame in single bytes, and many frames in one write, are served', async () => {
    const raw = await greeted();
    for (const byte of frame(
      encodeRecords([
        ['id', '9'],
        ['op', 'list'],
      ]),
    )) {
      raw.send(Buffer.from([byte]));
      await pause(1);
    }
    expect(await raw.next()).toEqual([['id', '9']]);
    const many = Array.from({ length: 500 }, (_, i) =>
      frame(
        encodeRecords([
          ['id', String(i)],
          ['op', 'list'],
        ]),
      ),
    );
    raw.send(Buffer.concat(many));
    for (let i = 0; i < 500; i++) expect(getRecord((await raw.next())!, 'id')).toBe(String(i));
    raw.socket.destroy();
  });

  test('the largest frame is read whole', async () => {
    const raw = await greeted();
    const head = 'id=4\0op=list\0x=';
    raw.send(frame(Buffer.from(`${head + 'y'.repeat(FRAME_MAX - head.length - 1)}\0`)));
    expect(await raw.next()).toContainEqual(['error', 'bad_request']);
    raw.socket.destroy();
  });

  test('random bytes do not end the helper', async () => {
    let seed = 12345;
    const random = (n: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      return seed % n;
    };
    const words = [
      'id=',
      'op=',
      'spawn',
      'create',
      'kill',
      'sandbox=',
      's0123456789abcdef',
      'mount=',
      'src=/',
      'dst=',
      'size=',
      '\0',
      '=',
      '1',
      'arg=',
      'tag=',
      'a',
      'level=enhanced\0',
      'env=A=B\0',
      'cwd=/\0',
      'dir=/\0',
    ];
    for (let round = 0; round < 300; round++) {
      const raw = new RawClient(daemon.socket);
      raw.send(frame(Buffer.from('id=1\0op=hello\0version=1\0')));
      for (let k = 0; k < 5; k++) {
        const text = Array.from({ length: random(30) }, () => words[random(words.length)]).join('');
        const payload =
          random(3) === 0
            ? Buffer.from(Array.from({ length: random(200) }, () => random(256)))
            : Buffer.from(`id=${k}\0op=${text}\0`);
        raw.send(random(10) === 0 ? payload : frame(payload));
      }
      raw.socket.end();
      if (round % 20 === 0) await pause(5);
    }
    await pause(300);
    (await greeted()).socket.destroy();
    expect(daemon.errors).toBe('');
  });

  test('a client that does not read is cut off, and nobody waits for it', async () => {
    const client = await daemon.client();
    for (let i = 0; i < 20; i++) await client.create({ tag: `big-${i}`, level: 'enhanced', limits: {} });
    const raw = new RawClient(daemon.socket);
    raw.socket.pause();
    raw.request(['id', '1'], ['op', 'hello'], ['version', '1']);
    for (let i = 0; i < 400; i++) raw.request(['id', String(i)], ['op', 'stats']);
    await pause(300);
    expect((await client.list()).length).toBe(20);
    await pause(500 * slow);
    raw.socket.resume();
    while ((await raw.next()) !== null);
    expect(raw.ended).toBe(true);
    for (const s of await client.list()) await client.remove(s.sandbox);
    client.close();
  });

  test('connections of one user are bounded; a silent one is closed', async () => {
    const raws = Array.from({ length: 16 }, () => new RawClient(daemon.socket));
    await pause(100);
    const refused = new RawClient(daemon.socket);
    refused.request(['id', '1'], ['op', 'hello'], ['version', '1']);
    expect(await refused.next()).toContainEqual(['error', 'too_many']);
    await pause(5_500);
    expect(raws.every((raw) => raw.ended)).toBe(true);
    (await greeted()).socket.destroy();
  });
});
