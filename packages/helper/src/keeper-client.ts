import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { ExitRecord } from './exit-record.ts';
import { parseExitRecord } from './exit-record-file.ts';
import { askKeeper, openKeeper } from './keeper-connection.ts';
import { KeeperError } from './keeper-error.ts';
import { encodeFrame, type Frame } from './keeper-frames.ts';
import { decodeRecords, getRecord, type RecordList } from './records.ts';

const INPUT_MAX = 32 * 1024;

/** What a keeper says of itself. Times in milliseconds, sizes in bytes. */
export interface KeeperStatus {
  state: 'running' | 'settling';
  pid: number;
  initPid: number;
  startedMs: number;
  durationMs: number;
  stdoutBytes: number;
  stderrBytes: number;
  paused: boolean;
  /** Why output stands still, e.g. `disk_full`. */
  stalled?: string;
}

export interface KeeperExec {
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  group: 'agent' | 'side';
  timeoutMs?: number;
}

export interface KeeperExecResult {
  code: number | null;
  signal: number | null;
  utimeUs: number;
  stimeUs: number;
  maxrssKb: number;
}

/** A command in the sandbox. Both outputs must be read: a full one holds the other up. */
export interface KeeperProcess {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** Rejects with `keeper_gone` when the keeper went away before the command's end. */
  result: Promise<KeeperExecResult>;
  /** Kills it by leaving. */
  kill(): void;
}

export interface KeeperAttachment {
  /** The agent's output from the asked offset on. Ends when the agent has ended. */
  output: Readable;
  /** To the agent's terminal (mode `rw`). */
  input: Writable;
  /** Resolves with the exit record when the agent has ended; rejects with `keeper_gone`. */
  exit: Promise<ExitRecord>;
  /** Leaves; the agent goes on. */
  close(): void;
}

/**
 * The keeper of a directory, asked without a lasting connection. All reject with {@link KeeperError}; `keeper_gone` says that
 * there is none (any more): the exit record then tells the rest.
 */
export const KeeperClient = {
  async status(dir: string): Promise<KeeperStatus> {
    return parseStatus(await askKeeper(dir, [['op', 'status']]));
  },

  /** Resolves when job 0 has ended and its record stands on disk. */
  watch(dir: string, options: { signal?: AbortSignal } = {}): Promise<ExitRecord> {
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new KeeperError('keeper_gone', `the keeper of ${dir} has ended`));
      const onFrame = (frame: Frame): void => {
        const exit = exitOf(frame);
        if (exit) resolve(exit);
      };
      openKeeper(dir, [['op', 'watch']], onFrame, gone).then(({ socket }) => {
        const leave = (): void => {
          socket.destroy();
          reject(new KeeperError('aborted', 'the watch was given up'));
        };
        if (options.signal?.aborted) leave();
        options.signal?.addEventListener('abort', leave, { once: true });
        socket.once('close', () => options.signal?.removeEventListener('abort', leave));
      }, reject);
    });
  },

  async exec(dir: string, spec: KeeperExec): Promise<KeeperProcess> {
    const request: RecordList = [
      ['op', 'exec'],
      ['cwd', spec.cwd],
      ['group', spec.group],
      ...(spec.timeoutMs === undefined ? [] : ([['timeout_ms', String(spec.timeoutMs)]] as const)),
      ...spec.argv.map((arg) => ['arg', arg] as const),
      ...Object.entries(spec.env).map(([name, value]) => ['env', `${name}=${value}`] as const),
    ];
    let socket: Socket | undefined;
    const resume = (): void => void socket?.resume();
    const stdout = new Readable({ read: resume });
    const stderr = new Readable({ read: resume });
    let settle!: { resolve(result: KeeperExecResult): void; reject(error: unknown): void };
    const result = new Promise<KeeperExecResult>((resolve, reject) => {
      settle = { resolve, reject };
    });
    // Whoever asks for the result sees the rejection; nobody has to.
    result.catch(() => undefined);
    const onFrame = (frame: Frame): void => {
      if (frame.type === 'O' && !stdout.push(frame.payload)) socket?.pause();
      else if (frame.type === 'E' && !stderr.push(frame.payload)) socket?.pause();
      else if (frame.type === 'Q') settle.resolve(parseResult(decodeRecords(frame.payload)));
    };
    const onEnd = (): void => {
      settle.reject(new KeeperError('keeper_gone', `the keeper of ${dir} went away during a command`));
      stdout.push(null);
      stderr.push(null);
    };
    ({ socket } = await openKeeper(dir, request, onFrame, onEnd));
    const connection = socket;
    return { stdin: inputOf(connection, true), stdout, stderr, result, kill: () => connection.destroy() };
  },

  /** `offset`: into stdout.log; absent: only what comes from now on. */
  async attach(
    dir: string,
    options: { mode: 'ro' | 'rw'; offset?: number; rows?: number; cols?: number },
  ): Promise<KeeperAttachment> {
    const request: RecordList = [
      ['op', 'attach'],
      ['mode', options.mode],
      ...(['offset', 'rows', 'cols'] as const)
        .filter((key) => options[key] !== undefined)
        .map((key) => [key, String(options[key])] as const),
    ];
    let socket: Socket | undefined;
    const output = new Readable({ read: () => void socket?.resume() });
    let settle!: { resolve(record: ExitRecord): void; reject(error: unknown): void };
    const exit = new Promise<ExitRecord>((resolve, reject) => {
      settle = { resolve, reject };
    });
    exit.catch(() => undefined);
    const onFrame = (frame: Frame): void => {
      if (frame.type === 'O' && !output.push(frame.payload)) socket?.pause();
      const record = exitOf(frame);
      if (record) settle.resolve(record);
    };
    const onEnd = (): void => {
      settle.reject(new KeeperError('keeper_gone', `the keeper of ${dir} went away`));
      output.push(null);
    };
    ({ socket } = await openKeeper(dir, request, onFrame, onEnd));
    const connection = socket;
    return { output, input: inputOf(connection, false), exit, close: () => connection.destroy() };
  },

  async resize(dir: string, size: { rows: number; cols: number }): Promise<void> {
    await askKeeper(dir, [
      ['op', 'resize'],
      ['rows', String(size.rows)],
      ['cols', String(size.cols)],
    ]);
  },

  /** SIGTERM, after the grace the kill; 0 kills at once. Resolves when the wish was heard: {@link KeeperClient.watch} tells the end. */
  async stop(dir: string, options: { graceMs?: number } = {}): Promise<void> {
    const grace = options.graceMs === undefined ? [] : ([['grace_ms', String(Math.round(options.graceMs))]] as const);
    await askKeeper(dir, [['op', 'stop'], ...grace]);
  },

  async pause(dir: string): Promise<void> {
    await askKeeper(dir, [['op', 'pause']]);
  },

  async unpause(dir: string): Promise<void> {
    await askKeeper(dir, [['op', 'unpause']]);
  },

  /** Settling is over: resolves when init and all below it are gone. Rejects with `busy` while job 0 runs. */
  async end(dir: string): Promise<void> {
    await askKeeper(dir, [['op', 'end']]);
  },
};

function inputOf(socket: Socket, endsByFrame: boolean): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      let written = true;
      for (let at = 0; at < chunk.length; at += INPUT_MAX)
        written = socket.write(encodeFrame('I', chunk.subarray(at, at + INPUT_MAX)));
      if (written || socket.destroyed) return void done();
      const go = (): void => {
        socket.off('drain', go);
        socket.off('close', go);
        done();
      };
      socket.once('drain', go);
      socket.once('close', go);
    },
    final(done) {
      if (endsByFrame && !socket.destroyed) socket.write(encodeFrame('I', Buffer.alloc(0)));
      done();
    },
  });
}

function exitOf(frame: Frame): ExitRecord | null {
  if (frame.type !== 'V') return null;
  const list = decodeRecords(frame.payload);
  return getRecord(list, 'event') === 'exit' ? parseExitRecord(list) : null;
}

function parseStatus(list: RecordList): KeeperStatus {
  const number = (key: string): number => Number(getRecord(list, key) ?? 0);
  const stalled = getRecord(list, 'stalled');
  return {
    state: getRecord(list, 'state') === 'settling' ? 'settling' : 'running',
    pid: number('pid'),
    initPid: number('init_pid'),
    startedMs: number('started_ms'),
    durationMs: number('duration_ms'),
    stdoutBytes: number('stdout_bytes'),
    stderrBytes: number('stderr_bytes'),
    paused: getRecord(list, 'paused') === '1',
    ...(stalled === undefined ? {} : { stalled }),
  };
}

function parseResult(list: RecordList): KeeperExecResult {
  const number = (key: string): number => Number(getRecord(list, key) ?? 0);
  const optional = (key: string): number | null => {
    const text = getRecord(list, key);
    return text === undefined ? null : Number(text);
  };
  return {
    code: optional('code'),
    signal: optional('signal'),
    utimeUs: number('utime_us'),
    stimeUs: number('stime_us'),
    maxrssKb: number('maxrss_kb'),
  };
}
