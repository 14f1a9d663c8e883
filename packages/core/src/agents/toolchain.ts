import type { Stats } from 'node:fs';
import { readlink, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Mount } from '../sandbox/types.ts';
import { PATH_VARIABLES } from './environment.ts';
import type { Env } from './types.ts';

interface Toolchain {
  /** Directory under the user's home. */
  path: string;
  /** The variable by which the tool finds it where HOME is another. */
  variable?: string;
}

/**
 * Where tools live under a home. Only program directories: `.cargo` holds a registry token beside `bin`, `.npmrc` is one,
 * so of such only the inner directory is named.
 */
const TOOLCHAINS: readonly Toolchain[] = [
  { path: '.local/bin' },
  { path: '.local/lib' },
  { path: '.local/share/claude' },
  { path: '.claude/local' },
  { path: '.nvm', variable: 'NVM_DIR' },
  { path: '.local/share/fnm', variable: 'FNM_DIR' },
  { path: '.fnm', variable: 'FNM_DIR' },
  { path: '.volta', variable: 'VOLTA_HOME' },
  { path: '.asdf', variable: 'ASDF_DATA_DIR' },
  { path: '.local/share/mise', variable: 'MISE_DATA_DIR' },
  { path: '.bun/bin' },
  { path: '.bun/install/global' },
  { path: '.deno/bin' },
  { path: '.npm-global' },
  { path: '.local/share/pnpm' },
  { path: '.pyenv', variable: 'PYENV_ROOT' },
  { path: '.local/share/uv' },
  { path: '.local/share/pipx' },
  { path: '.rbenv', variable: 'RBENV_ROOT' },
  { path: '.cargo/bin' },
  { path: '.rustup', variable: 'RUSTUP_HOME' },
  { path: '.sdkman/candidates' },
  { path: 'go/bin' },
];

/** Never bound, nor anything in them, nor anything that holds one of them. */
const SECRETS: readonly string[] = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.config/gh',
  '.config/gcloud',
  '.config/drover',
  '.config/git',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
  '.gitconfig',
  '.password-store',
  '.mozilla',
  '.local/share/keyrings',
  '.local/state/drover',
  '.cargo/credentials.toml',
  '.claude/.credentials.json',
  '.claude/projects',
  '.codex',
  '.gemini',
];

export interface ToolchainView {
  /** Read-only binds, parents before children. */
  mounts: Mount[];
  /** What tools need to find their directories where HOME is another and nothing is mounted. */
  env: Record<string, string>;
}

/**
 * What of the user's home an agent must see to find the programs on PATH: known toolchains, directories on PATH, the
 * whole chain of links of the agent's own program, and files that the environment names. Only what exists, never a secret.
 */
export async function toolchainView(env: Env, userHome: string, executable?: string): Promise<ToolchainView> {
  const onPath = (env.PATH ?? '').split(':').filter(isAbsolute);
  const known = TOOLCHAINS.map(({ path }) => join(userHome, path));
  const program = executable ? await executableDirectories(executable) : [];
  const wanted = [...known, ...onPath, ...program, ...PATH_VARIABLES.flatMap((name) => env[name] ?? [])];
  const paths: string[] = [];
  for (const path of wanted.map((one) => resolve(one))) {
    if (await mayBind(path, userHome)) paths.push(path);
  }
  // A sandbox has a /tmp of its own: a program that is installed below the host's must be brought along.
  for (const path of program) if (isBelowTmp(path) && !isWithin(path, userHome)) paths.push(path);
  const mounts: Mount[] = [];
  for (const path of outermost(paths)) mounts.push({ kind: 'ro', src: await realpath(path), dst: path });
  return { mounts, env: toolVariables(env, userHome, paths) };
}

/** Directories that must be there for a program to start: of each link on the way, and of the package at the end. */
export async function executableDirectories(executable: string): Promise<string[]> {
  const directories: string[] = [];
  let path = resolve(executable);
  // As many links as the kernel would follow.
  for (let links = 0; links < 40; links++) {
    directories.push(dirname(path));
    const target = await readlink(path).catch(() => null);
    if (target === null) break;
    path = resolve(dirname(path), target);
  }
  const real = await realpath(executable).catch(() => path);
  return [...directories, packageRoot(real)];
}

/** A program installed by npm needs its siblings: the outermost `node_modules` is what is installed together. */
function packageRoot(file: string): string {
  const at = file.indexOf(`${sep}node_modules${sep}`);
  return at < 0 ? dirname(file) : file.slice(0, at + `${sep}node_modules`.length);
}

function isBelowTmp(path: string): boolean {
  return ['/tmp', '/var/tmp'].some((dir) => path !== dir && isWithin(path, dir));
}

async function mayBind(path: string, home: string): Promise<boolean> {
  if (!isWithin(path, home) || path === home) return false;
  const real = await realpath(path).catch(() => null);
  const found: Stats | null = real === null ? null : await stat(real).catch(() => null);
  if (real === null || !found || !(found.isDirectory() || found.isFile())) return false;
  // A link may lead to a secret as well as a name may.
  const homes = [home, await realpath(home)];
  return ![path, real].some((one) => homes.some((each) => touchesSecret(one, each)));
}

function touchesSecret(path: string, home: string): boolean {
  return isWithin(home, path) || SECRETS.some((name) => overlap(path, join(home, name)));
}

function overlap(one: string, other: string): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

/** Whether `path` is `directory` or in it. */
export function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

function outermost(paths: readonly string[]): string[] {
  const sorted = [...new Set(paths)].sort();
  return sorted.filter((path) => !sorted.some((other) => other !== path && isWithin(path, other)));
}

function toolVariables(env: Env, home: string, paths: readonly string[]): Record<string, string> {
  const found = TOOLCHAINS.filter(({ path, variable }) => variable && paths.includes(join(home, path)));
  return Object.fromEntries(found.map(({ path, variable }) => [variable!, env[variable!] ?? join(home, path)]));
}
