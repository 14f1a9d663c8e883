import type { Readable, Writable } from 'node:stream';
import type { ExitRecord } from './exit-record.ts';
import { parseExitRecord } from './exit-record-file.ts';
import { askKeeper, openKeeper } from './keeper-connection.ts';
import { KeeperError } from './keeper-error.ts';
import type { Frame } from './keeper-frames.ts';
import { inputStream, outputStreams } from './keeper-streams.ts';
import { decodeRecords, getRecord, type RecordList } from './records.ts';

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
  /** The terminal's size, where there is one. */
  rows?: number;
  cols?: number;
  /**
   * Why nothing moves. `disk_full`, `disk_error`: the log cannot be written, the agent waits in its write; `processes_left`: a process
   * that no kill has ended; `exit_record`: the record cannot be written.
   */
  stalled?: string;
}

export interface KeeperExec {
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  /** `agent`: under the agent's limits. `side`: beside it. */
  group: 'agent' | 'side';
  /** After this it is killed. */
  timeoutMs?: number;
  /** Kills it. */
  signal?: AbortSignal;
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

/** Called with the terminal's new size. */
export type OnResize = (size: { rows: number; cols: number }) => void;

export interface KeeperAttachment {
  /** As it was when the connection was made. */
  status: KeeperStatus;
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
      let finish: (() => void) | undefined;
      const onFrame = (frame: Frame): void => {
        const exit = exitOf(frame);
        if (!exit) return;
        resolve(exit);
        finish?.();
      };
      openKeeper(dir, [['op', 'watch']], onFrame, gone).then(({ socket }) => {
        finish = () => void socket.destroy();
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
    const output = outputStreams(2);
    const result = deferred<KeeperExecResult>();
    let leave: (() => void) | undefined;
    const onFrame = (frame: Frame): void => {
      if (frame.type === 'O') output.push(0, frame.payload);
      else if (frame.type === 'E') output.push(1, frame.payload);
      else if (frame.type === 'Q') {
        result.resolve(parseResult(decodeRecords(frame.payload)));
        leave?.();
      }
    };
    const onEnd = (): void => {
      result.reject(new KeeperError('keeper_gone', `the keeper of ${dir} went away during a command`));
      output.end();
    };
    if (spec.signal?.aborted) throw new KeeperError('aborted', 'the command was given up');
    const { socket } = await openKeeper(dir, request, onFrame, onEnd);
    leave = () => void socket.destroy();
    const abort = (): void => {
      result.reject(new KeeperError('aborted', 'the command was given up'));
      socket.destroy();
    };
    output.connect(socket);
    if (spec.signal?.aborted) abort();
    spec.signal?.addEventListener('abort', abort, { once: true });
    socket.once('close', () => spec.signal?.removeEventListener('abort', abort));
    const [stdout, stderr] = output.streams as [Readable, Readable];
    return { stdin: inputStream(socket, true), stdout, stderr, result: result.promise, kill: leave };
  },

  /** `offset`: into stdout.log; absent: only what comes from now on. */
  async attach(
    dir: string,
    options: { mode: 'ro' | 'rw'; offset?: number; rows?: number; cols?: number; onResize?: OnResize },
  ): Promise<KeeperAttachment> {
    const request: RecordList = [
      ['op', 'attach'],
      ['mode', options.mode],
      ...(['offset', 'rows', 'cols'] as const)
        .filter((key) => options[key] !== undefined)
        .map((key) => [key, String(options[key])] as const),
    ];
    const output = outputStreams(1);
    const exit = deferred<ExitRecord>();
    const onFrame = (frame: Frame): void => {
      if (frame.type === 'O') output.push(0, frame.payload);
      if (frame.type !== 'V') return;
      const event = decodeRecords(frame.payload);
      if (getRecord(event, 'event') === 'exit') exit.resolve(parseExitRecord(event));
      if (getRecord(event, 'event') === 'resize')
        options.onResize?.({ rows: Number(getRecord(event, 'rows')), cols: Number(getRecord(event, 'cols')) });
    };
    const onEnd = (): void => {
      exit.reject(new KeeperError('keeper_gone', `the keeper of ${dir} went away`));
      output.end();
    };
    const { socket, answer } = await openKeeper(dir, request, onFrame, onEnd);
    output.connect(socket);
    return {
      status: parseStatus(answer),
      output: output.streams[0]!,
      input: inputStream(socket, false),
      exit: exit.promise,
      close: () => void socket.destroy(),
    };
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

/** A promise and its ends. Whoever asks for it sees its rejection; nobody has to. */
function deferred<T>(): { promise: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let ends!: { resolve(value: T): void; reject(error: unknown): void };
  const promise = new Promise<T>((resolve, reject) => {
    ends = { resolve, reject };
  });
  promise.catch(() => undefined);
  return { promise, ...ends };
}

function exitOf(frame: Frame): ExitRecord | null {
  if (frame.type !== 'V') return null;
  const list = decodeRecords(frame.payload);
  return getRecord(list, 'event') === 'exit' ? parseExitRecord(list) : null;
}

function parseStatus(list: RecordList): KeeperStatus {
  const number = (key: string): number => Number(getRecord(list, key) ?? 0);
  const stalled = getRecord(list, 'stalled');
  const size = getRecord(list, 'rows') === undefined ? {} : { rows: number('rows'), cols: number('cols') };
  return {
    state: getRecord(list, 'state') === 'settling' ? 'settling' : 'running',
    pid: number('pid'),
    initPid: number('init_pid'),
    startedMs: number('started_ms'),
    durationMs: number('duration_ms'),
    stdoutBytes: number('stdout_bytes'),
    stderrBytes: number('stderr_bytes'),
    paused: getRecord(list, 'paused') === '1',
    ...size,
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
