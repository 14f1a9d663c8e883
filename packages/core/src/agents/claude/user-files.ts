import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env } from '../types.ts';

/** Where the user's own Claude Code keeps its things. */
export interface UserFiles {
  /** `~/.claude`, or what CLAUDE_CONFIG_DIR says. */
  configDir: string;
  /** `.claude.json`: beside the directory, or in it where it was moved. */
  state: string;
  settings: string;
  credentials: string;
}

/** Finds them. The agent itself always has the default place, in its private home. */
export function userFiles(env: Env, userHome: string): UserFiles {
  const moved = env.CLAUDE_CONFIG_DIR;
  const configDir = moved || join(userHome, '.claude');
  return {
    configDir,
    state: join(moved || userHome, '.claude.json'),
    settings: join(configDir, 'settings.json'),
    credentials: join(configDir, '.credentials.json'),
  };
}

export type JsonObject = Record<string, unknown>;

const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** An object from a file; null when there is none, or it is something else. */
export async function readJsonObject(path: string): Promise<JsonObject | null> {
  try {
    if ((await stat(path)).size > MAX_JSON_BYTES) return null;
    return asObject(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return null;
  }
}

/** A value as an object, or null. */
export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}
