import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Env } from './types.ts';

/** Directories of programs that a login shell has on its PATH and an engine started elsewhere may not. */
const HOME_BINS: readonly string[] = ['.local/bin', '.claude/local', '.npm-global/bin', '.bun/bin', '.volta/bin'];

/** Finds a program on PATH of `env`, then where installers put programs under a home; null when it is nowhere. */
export async function which(program: string, env: Env, userHome: string): Promise<string | null> {
  const onPath = (env.PATH ?? '').split(delimiter).filter(isAbsolute);
  const inHome = HOME_BINS.map((directory) => join(userHome, directory));
  for (const directory of [...onPath, ...inHome, ...(await nvmBins(userHome))]) {
    const path = join(directory, program);
    if (await isExecutable(path)) return path;
  }
  return null;
}

/** Node versions of nvm, newest first. */
async function nvmBins(userHome: string): Promise<string[]> {
  const root = join(userHome, '.nvm/versions/node');
  const versions = await readdir(root).catch(() => [] as string[]);
  const newestFirst = versions.sort((a, b) => b.localeCompare(a, undefined, { numeric: true }));
  return newestFirst.map((version) => join(root, version, 'bin'));
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
