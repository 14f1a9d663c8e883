import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { release } from 'node:os';
import { dirname } from 'node:path';
import { findKeeper } from '../api/find-keeper.ts';
import { stateDir } from '../api/paths.ts';
import type { FileSystemFacts, Readers } from './types.ts';

const RUN_TIMEOUT_MS = 10_000;

/** What is not this machine's to say: those who know the helper and the agents give it. */
export type Injected = Pick<Readers, 'helper' | 'agents'>;

/** Readers of the real machine. */
export function realReaders(env: Readonly<Record<string, string | undefined>>, injected: Injected): Readers {
  return {
    platform: process.platform,
    kernelRelease: release(),
    nodeVersion: process.version,
    uid: process.getuid?.() ?? 0,
    stateDir: stateDir(env),
    readFile,
    exists: existsSync,
    run: (program, args) => run(program, args, env),
    fileSystem,
    keeper: () => findKeeper(env),
    ...injected,
  };
}

function readFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function run(
  program: string,
  args: string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: RUN_TIMEOUT_MS, env }, (error, stdout) => resolve(error ? null : stdout));
  });
}

function fileSystem(path: string): FileSystemFacts | null {
  let there = path;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  try {
    const fs = statfsSync(there);
    return { freeBytes: fs.bavail * fs.bsize, freeInodes: fs.ffree, totalInodes: fs.files };
  } catch {
    return null;
  }
}
