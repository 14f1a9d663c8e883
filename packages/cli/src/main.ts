#!/usr/bin/env node
import { drained } from './output.ts';
import { INTERRUPTED } from './print-error.ts';
import { runCli } from './program.ts';

/** A command that was interrupted may say what goes on; one that hangs is left behind. */
const FAREWELL_MS = 300;

const interrupt = new AbortController();
const interrupted = new Promise<number>((resolve) => {
  const end = () => {
    if (interrupt.signal.aborted) process.exit(INTERRUPTED);
    interrupt.abort();
    setTimeout(() => resolve(INTERRUPTED), FAREWELL_MS);
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
});

// The reader of a pipe has enough: `drover logs x | head`.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
}

/** It may have been removed under the shell; only commands that need it then fail. */
function currentDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return process.env.PWD ?? '/';
  }
}

const { env, stdout, stderr } = process;
const call = {
  argv: process.argv.slice(2),
  env,
  cwd: currentDirectory(),
  stdout,
  stderr,
  interrupted: interrupt.signal,
};
const code = await Promise.race([runCli(call), interrupted]);
// What is written to a pipe may still be on its way.
await Promise.race([Promise.all([drained(stdout), drained(stderr)]), interrupted]);
process.exit(code);
