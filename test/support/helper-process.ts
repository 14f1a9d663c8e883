import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NATIVE } from './checkout.ts';

export interface HelperOptions {
  /** Directory for socket, registry and log; made by root. */
  directory: string;
  /** Name of the helper's group below every cgroup hierarchy. */
  cgroup: string;
  /** Ordinary users who may use it. */
  allowUids: number[];
}

/** A helper daemon of the test's own, that can be killed and started again as a supervisor would. */
export class HelperProcess {
  readonly socket: string;
  readonly #options: HelperOptions;
  #child: ChildProcess | undefined;

  constructor(options: HelperOptions) {
    this.#options = options;
    this.socket = join(options.directory, 'helper.sock');
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (!pid) throw new Error('the helper is not running');
    return pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  async start(): Promise<void> {
    const log = openSync(this.#logFile, 'a');
    const child = spawn(join(NATIVE, 'drover-helper'), this.#arguments(), { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    await Promise.race([this.#answers(), failureToStart(child)]);
  }

  /** As the kernel or an operator would: at once, without a chance to tidy up. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Politely; resolves with its exit code. */
  stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  log(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  get #logFile(): string {
    return join(this.#options.directory, 'helper.log');
  }

  #arguments(): string[] {
    const { directory, cgroup, allowUids } = this.#options;
    return [
      ...['--socket', this.socket],
      ...['--state-dir', join(directory, 'registry')],
      ...['--cgroup', cgroup],
      ...allowUids.flatMap((uid) => ['--allow-uid', String(uid)]),
    ];
  }

  async #answers(): Promise<void> {
    const deadline = performance.now() + 10_000;
    while (!(await canConnect(this.socket))) {
      const { exitCode, signalCode, pid } = this.#child!;
      if (!pid) return;
      if (exitCode !== null || signalCode !== null || performance.now() > deadline) {
        throw new Error(`the helper did not come up (exit ${exitCode}, signal ${signalCode}):\n${this.log()}`);
      }
      await sleep(20);
    }
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    child.kill(signal);
    return ended;
  }
}

/** Never resolves; rejects where the program is not there or cannot be run. */
function failureToStart(child: ChildProcess): Promise<never> {
  return new Promise((_, reject) => child.once('error', reject));
}

function canConnect(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket.destroy() && true));
    socket.once('error', () => resolve(false));
  });
}
