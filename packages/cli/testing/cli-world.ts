import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import xterm from '@xterm/headless';
import pty from 'node-pty';
import { type EngineServer, serveEngine } from '../../core/src/api/server.ts';
import { FakeEngine } from '../../core/src/api/testing/index.ts';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

export interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Started {
  child: ChildProcess;
  result: Promise<Result>;
  /** Resolves when standard output or error holds this. */
  until(text: string | RegExp): Promise<void>;
}

/** A directory, a fake engine behind the real server, and the built `drover` as a child process. */
export class CliWorld {
  readonly dir = mkdtempSync(join(tmpdir(), 'drover-cli-'));
  readonly engine = new FakeEngine();
  #server: EngineServer | undefined;

  get socketPath(): string {
    return join(this.dir, 'engine.sock');
  }

  async serve(): Promise<void> {
    this.#server = await serveEngine({ socketPath: this.socketPath, service: this.engine });
    this.engine.onShutdown = () => void this.#server?.close();
  }

  env(more: Record<string, string> = {}): Record<string, string> {
    const { PATH = '', DROVER_TEST_MARK = '' } = process.env;
    return {
      PATH,
      HOME: this.dir,
      DROVER_STATE_DIR: this.dir,
      TERM: 'xterm-256color',
      TZ: 'UTC',
      DROVER_TEST_MARK,
      ...more,
    };
  }

  start(args: string[], env: Record<string, string> = {}): Started {
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: this.dir, env: this.env(env), stdio: 'pipe' });
    const out = { stdout: '', stderr: '' };
    const looks = new Set<() => void>();
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (bytes: Buffer) => {
        out[name] += bytes.toString('utf8');
        for (const look of looks) look();
      });
    }
    child.stdin.end();
    const result = new Promise<Result>((resolve) => child.on('close', (code) => resolve({ code, ...out })));
    const until = (text: string | RegExp) =>
      new Promise<void>((resolve, reject) => {
        const look = () => {
          const all = out.stdout + out.stderr;
          if (typeof text === 'string' ? all.includes(text) : text.test(all)) resolve();
        };
        looks.add(look);
        void result.then((r) => reject(new Error(`it ended before it said ${text}: ${JSON.stringify(r)}`)));
        look();
      });
    return { child, result, until };
  }

  run(args: string[], env: Record<string, string> = {}): Promise<Result> {
    return this.start(args, env).result;
  }

  /** Runs it in a terminal of this size. */
  terminal(args: string[], size: { cols: number; rows: number }, env: Record<string, string> = {}): TerminalRun {
    return new TerminalRun([MAIN, ...args], this.dir, this.env(env), size);
  }

  async dispose(): Promise<void> {
    await this.#server?.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A child in a pseudo-terminal, and what its screen shows. */
export class TerminalRun {
  readonly #screen: InstanceType<typeof xterm.Terminal>;
  readonly #pty: ReturnType<typeof pty.spawn>;
  readonly #looks = new Set<() => void>();
  readonly exit: Promise<number>;
  /** All bytes it wrote. */
  raw = '';

  constructor(argv: string[], cwd: string, env: Record<string, string>, size: { cols: number; rows: number }) {
    this.#screen = new xterm.Terminal({ ...size, allowProposedApi: true, scrollback: 1000 });
    this.#pty = pty.spawn(process.execPath, argv, { cwd, env, ...size });
    this.#pty.onData((data) => {
      this.raw += data;
      this.#screen.write(data, () => {
        for (const look of this.#looks) look();
      });
    });
    this.exit = new Promise((resolve) => this.#pty.onExit(({ exitCode }) => setTimeout(resolve, 50, exitCode)));
  }

  /** Every line, scrolled-out ones first, without trailing blanks. */
  lines(): string[] {
    const buffer = this.#screen.buffer.active;
    const lines = Array.from({ length: buffer.length }, (_, i) => buffer.getLine(i)?.translateToString(true) ?? '');
    while (lines.at(-1) === '') lines.pop();
    return lines;
  }

  type(text: string): void {
    this.#pty.write(text);
  }

  resize(cols: number, rows: number): void {
    this.#screen.resize(cols, rows);
    this.#pty.resize(cols, rows);
  }

  until(text: string | RegExp): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const all = this.lines().join('\n');
        if (typeof text === 'string' ? all.includes(text) : text.test(all)) resolve();
      };
      this.#looks.add(look);
      void this.exit.then(() => {
        look();
        reject(new Error(`it ended before it showed ${text}:\n${this.lines().join('\n')}`));
      });
      look();
    });
  }
}
