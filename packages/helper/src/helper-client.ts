import { connect, type Socket } from 'node:net';
import {
  type HelperCreated,
  type HelperEvent,
  type HelperHello,
  type HelperListed,
  type HelperStats,
  parseCreated,
  parseEvent,
  parseHello,
  parseList,
  parseSpawned,
  parseStats,
} from './helper-answers.ts';
import { HelperError } from './helper-error.ts';
import { checkRequest, type Operation } from './helper-protocol.ts';
import { type KeeperSpec, specRecords } from './keeper-spec.ts';
import { decodeRecords, encodeRecords, FRAME_MAX, getRecord, getRecords, type RecordList } from './records.ts';

const PROTOCOL_VERSION = 1;
const CONNECT_MS = 5_000;
/** Over the helper's own deadlines (20 s for a spawn), so that its answer, which says more, comes first. */
const ANSWER_MS = 60_000;
const HEADER = 4;
/** The helper stops reading at 32; more would only wait in the socket. */
const WAITING_MAX = 256;

export interface HelperConnectOptions {
  /** For connecting and hello together. */
  timeoutMs?: number;
}

export interface HelperCreate {
  tag: string;
  level: 'enhanced';
  oom?: 'kill' | 'tolerate';
  ioPath?: string;
  /** Keys and values as in docs/helper-protocol.md. */
  limits: Readonly<Record<string, string>>;
}

export type HelperMount =
  | { kind: 'ro' | 'rw'; src: string; dst: string }
  | { kind: 'tmpfs'; dst: string; sizeBytes?: number };

export interface HelperSpawn extends KeeperSpec {
  sandbox: string;
  hostname?: string;
  tmpSize?: number;
  shmSize?: number;
  mounts?: readonly HelperMount[];
}

interface Waiting {
  resolve(answer: RecordList): void;
  reject(error: HelperError): void;
}

/**
 * A connection to the privileged helper. Requests may overlap; each answer finds its request by id. All calls reject with
 * {@link HelperError}; when the connection is lost, all that wait do.
 */
export class HelperClient {
  readonly hello: HelperHello;
  /** Resolves when the connection is over, for whatever reason. */
  readonly closed: Promise<void>;
  readonly #wire: Wire;

  private constructor(wire: Wire, hello: HelperHello) {
    this.#wire = wire;
    this.hello = hello;
    this.closed = wire.closed;
  }

  /** Connects and says hello. Rejects with `helper_unreachable`, or what the helper answers, e.g. `not_permitted`, `version`. */
  static async connect(path: string, { timeoutMs = CONNECT_MS }: HelperConnectOptions = {}): Promise<HelperClient> {
    const wire = await Wire.open(path, timeoutMs);
    try {
      const answer = await wire.ask('hello', [['version', String(PROTOCOL_VERSION)]], timeoutMs);
      return new HelperClient(wire, parseHello(answer));
    } catch (error) {
      wire.close();
      throw error;
    }
  }

  async create(spec: HelperCreate): Promise<HelperCreated> {
    return parseCreated(
      await this.#wire.ask('create', [
        ['tag', spec.tag],
        ['level', spec.level],
        ...optional('oom', spec.oom),
        ...optional('io_path', spec.ioPath),
        ...Object.entries(spec.limits),
      ]),
    );
  }

  /** Resolves when the program of job 0 runs. */
  async spawn(spec: HelperSpawn): Promise<{ keeperPid: number; initPid: number }> {
    const answer = await this.#wire.ask('spawn', [
      ['sandbox', spec.sandbox],
      ...optional('hostname', spec.hostname),
      ...optional('tmp_size', spec.tmpSize),
      ...optional('shm_size', spec.shmSize),
      ...(spec.mounts ?? []).flatMap(mountRecords),
      ...specRecords(spec),
    ]);
    return parseSpawned(answer);
  }

  /** Answers the limits that hold now. */
  async update(sandbox: string, limits: Readonly<Record<string, string>>): Promise<string[]> {
    return getRecords(await this.#wire.ask('update', [['sandbox', sandbox], ...Object.entries(limits)]), 'enforced');
  }

  async freeze(sandbox: string): Promise<void> {
    await this.#wire.ask('freeze', [['sandbox', sandbox]]);
  }

  async thaw(sandbox: string): Promise<void> {
    await this.#wire.ask('thaw', [['sandbox', sandbox]]);
  }

  /** Resolves when the group is empty. */
  async kill(sandbox: string, group: 'agent' | 'all'): Promise<void> {
    await this.#wire.ask('kill', [
      ['sandbox', sandbox],
      ['group', group],
    ]);
  }

  /** Figures of one sandbox, or of all of this user. */
  async stats(sandbox?: string): Promise<HelperStats[]> {
    return parseStats(await this.#wire.ask('stats', optional('sandbox', sandbox)));
  }

  async list(): Promise<HelperListed[]> {
    return parseList(await this.#wire.ask('list', []));
  }

  async remove(sandbox: string): Promise<void> {
    await this.#wire.ask('remove', [['sandbox', sandbox]]);
  }

  /** From now on `listener` gets this user's events. They are hints: {@link stats} has the truth. */
  async subscribe(listener: (event: HelperEvent) => void): Promise<void> {
    this.#wire.onEvent = (list) => listener(parseEvent(list));
    await this.#wire.ask('subscribe', []);
  }

  async shutdown(): Promise<void> {
    await this.#wire.ask('shutdown', []);
  }

  close(): void {
    this.#wire.close();
  }
}

function optional(key: string, value: string | number | undefined): RecordList {
  return value === undefined ? [] : [[key, String(value)]];
}

function mountRecords(mount: HelperMount): RecordList {
  if (mount.kind === 'tmpfs') return [['mount', 'tmpfs'], ['dst', mount.dst], ...optional('size', mount.sizeBytes)];
  return [
    ['mount', mount.kind],
    ['src', mount.src],
    ['dst', mount.dst],
  ];
}

/** Frames and ids. */
class Wire {
  readonly closed: Promise<void>;
  onEvent: (list: RecordList) => void = () => undefined;
  readonly #socket: Socket;
  readonly #waiting = new Map<string, Waiting>();
  #nextId = 1;
  #rest: Buffer = Buffer.alloc(0);
  #error = new HelperError('helper_lost', 'the connection to the helper is closed');

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('error', (error) => {
      this.#error = new HelperError('helper_lost', `the connection to the helper broke: ${error.message}`, {
        cause: error,
      });
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        for (const { reject } of this.#waiting.values()) reject(this.#error);
        this.#waiting.clear();
        resolve();
      });
    });
  }

  static open(path: string, timeoutMs: number): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      const fail = (error: Error): void => {
        socket.destroy();
        reject(
          new HelperError('helper_unreachable', `no helper answers at ${path}: ${error.message}`, { cause: error }),
        );
      };
      socket.setTimeout(timeoutMs, () => fail(new Error('it took too long')));
      socket.once('error', fail);
      socket.once('connect', () => {
        socket.off('error', fail);
        socket.setTimeout(0);
        resolve(new Wire(socket));
      });
    });
  }

  async ask(op: Operation, records: RecordList, timeoutMs = ANSWER_MS): Promise<RecordList> {
    checkRequest(op, records);
    if (this.#waiting.size >= WAITING_MAX) throw new HelperError('too_many', `${WAITING_MAX} requests wait already`);
    const id = String(this.#nextId++);
    const payload = encodeRecords([['id', id], ['op', op], ...records]);
    const frame = Buffer.allocUnsafe(HEADER + payload.length);
    frame.writeUInt32LE(payload.length, 0);
    payload.copy(frame, HEADER);
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return void reject(this.#error);
      const timer = setTimeout(() => {
        // A helper that does not answer is no helper: what is under way on this connection is not known any more.
        this.#error = new HelperError('helper_lost', `the helper did not answer ${op} in ${timeoutMs} ms`);
        this.#socket.destroy();
      }, timeoutMs);
      const settled = <T extends unknown[]>(settle: (...args: T) => void) => {
        return (...args: T): void => {
          clearTimeout(timer);
          settle(...args);
        };
      };
      this.#waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
      this.#socket.write(frame);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    let data = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    try {
      while (data.length >= HEADER) {
        const length = data.readUInt32LE(0);
        if (length < 1 || length > FRAME_MAX) throw new Error(`a frame of ${length} bytes`);
        if (data.length < HEADER + length) break;
        this.#handle(decodeRecords(data.subarray(HEADER, HEADER + length)));
        data = data.subarray(HEADER + length);
      }
    } catch (error) {
      this.#error = new HelperError('bad_frame', 'the helper sent nonsense', { cause: error });
      this.#socket.destroy();
    }
    this.#rest = data;
  }

  #handle(list: RecordList): void {
    const id = getRecord(list, 'id');
    if (id === undefined) {
      this.onEvent(list);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    const error = getRecord(list, 'error');
    if (error === undefined) waiting?.resolve(list);
    else waiting?.reject(new HelperError(error, getRecord(list, 'message') ?? error));
  }
}
