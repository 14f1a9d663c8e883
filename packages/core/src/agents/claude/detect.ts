import { realpath, stat } from 'node:fs/promises';
import { probe } from '../probe.ts';
import type { Detection, Env } from '../types.ts';
import { which } from '../which.ts';
import { findLogin } from './credentials.ts';
import { UNSUPPORTED_PROVIDERS } from './manifest.ts';

/** Looks for Claude Code on PATH and where its installers put it, and for a way to log in. */
export async function detectClaude(env: Env, userHome: string): Promise<Detection | null> {
  const path = await which('claude', env, userHome);
  if (!path) return null;
  const version = await versionOf(path, env, userHome);
  const provider = unsupportedProvider(env);
  if (provider) return { path, version, loggedIn: false, detail: `${provider} is not available in this version.` };
  const login = await findLogin(env, userHome);
  return { path, version, loggedIn: login.kind !== 'none', detail: login.detail };
}

/** The cloud that the environment chooses, where it is one that cannot be had in a sandbox. */
export function unsupportedProvider(env: Env): string | undefined {
  return Object.entries(UNSUPPORTED_PROVIDERS).find(([name]) => env[name] && env[name] !== '0')?.[1];
}

const versions = new Map<string, string>();

/** `2.1.332 (Claude Code)`: the number. Asked once per installed file: a start of the program costs a quarter of a second. */
async function versionOf(path: string, env: Env, userHome: string): Promise<string> {
  const installed = `${await realpath(path)}:${(await stat(path)).mtimeMs}`;
  const known = versions.get(installed);
  if (known !== undefined) return known;
  const childEnv = { PATH: env.PATH ?? '', HOME: userHome, DISABLE_AUTOUPDATER: '1' };
  const answer = await probe(path, ['--version'], { env: childEnv, timeoutMs: 10_000 });
  const version = answer?.trim().split(/\s+/)[0] ?? '';
  if (version) versions.set(installed, version);
  return version || 'unknown';
}
