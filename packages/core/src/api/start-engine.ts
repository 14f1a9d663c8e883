import { spawn } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DroverError } from '../shared/errors.ts';
import { answers, checkSocketPath } from './claim-socket.ts';
import { engineSocket, stateDir } from './paths.ts';
import { waitForSocket } from './wait-for-socket.ts';

type Env = Readonly<Record<string, string | undefined>>;

const START_TIMEOUT_MS = 15_000;
const LOG_TAIL_BYTES = 2000;
/** All that the engine inherits. Each submission brings an environment of its own. */
const INHERITED = /^(HOME|PATH|LANG|USER|XDG_.*|DROVER_.*)$/;

export interface StartOptions {
  env: Env;
  /** The engine's program; its default is this package's own. */
  argv?: readonly string[];
  timeoutMs?: number;
}

/**
 * Starts an engine that outlives this process and resolves when it answers. Where another one was quicker, that one is as good.
 * Rejects with `engine_start_failed` and the end of its log.
 */
export async function startEngine(options: StartOptions): Promise<void> {
  const socketPath = engineSocket(options.env);
  checkSocketPath(socketPath);
  const dir = stateDir(options.env);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const logPath = join(dir, 'engine.log');
  const log = openSync(logPath, 'a', 0o600);
  const logStart = fstatSync(log).size;
  const argv = options.argv ?? (await engineCommand(options.env));
  const exited = spawnDetached(argv, options.env, log);
  closeSync(log);
  const up = await waitForSocket(socketPath, options.timeoutMs ?? START_TIMEOUT_MS, exited.signal);
  exited.dispose();
  // An engine that ends because another runs is no failure.
  if (up || (await answers(socketPath))) return;
  throw new DroverError(
    'engine_start_failed',
    `The engine did not start${exited.why()}.${quote(readTail(logPath, logStart))}`,
    `Its log is ${logPath}`,
  );
}

/** The supervisor keeps the engine up while tasks are open; without a compiled keeper it runs alone. */
async function engineCommand(env: Env): Promise<string[]> {
  const main = fileURLToPath(new URL('../engine/main.js', import.meta.url));
  if (!existsSync(main)) {
    throw new DroverError('engine_start_failed', `The engine is not built: there is no ${main}`, 'Run: pnpm build');
  }
  const { findKeeper } = await import('./find-keeper.ts');
  const keeper = await findKeeper(env);
  return keeper ? [keeper, 'supervise', '--', process.execPath, main] : [process.execPath, main];
}

interface Exited {
  signal: AbortSignal;
  why(): string;
  dispose(): void;
}

function spawnDetached(argv: readonly string[], env: Env, log: number): Exited {
  const [program, ...args] = argv;
  const kept = Object.fromEntries(
    Object.entries(env).filter(([key, value]) => value !== undefined && INHERITED.test(key)),
  );
  const child = spawn(program as string, args, { cwd: '/', env: kept, detached: true, stdio: ['ignore', log, log] });
  const ended = new AbortController();
  let why = '';
  child.once('error', (error) => {
    why = `: ${error.message}`;
    ended.abort();
  });
  child.once('exit', (code, signal) => {
    why = signal ? ` (${signal})` : ` (exit code ${code})`;
    ended.abort();
  });
  child.unref();
  return { signal: ended.signal, why: () => why, dispose: () => child.removeAllListeners() };
}

/** The end of what was logged since `from`. */
function readTail(path: string, from: number): string {
  const fd = openSync(path, 'r');
  try {
    const size = fstatSync(fd).size;
    const start = Math.max(from, size - LOG_TAIL_BYTES);
    const bytes = Buffer.alloc(Math.max(0, size - start));
    readSync(fd, bytes, 0, bytes.length, start);
    return bytes.toString('utf8').trim();
  } finally {
    closeSync(fd);
  }
}

const quote = (text: string) => (text ? ` The end of its log:\n${text}` : '');
