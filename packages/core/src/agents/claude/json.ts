import { readFile, stat } from 'node:fs/promises';

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
