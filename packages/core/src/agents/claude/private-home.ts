import { copyFile, lstat, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PrepareContext } from '../types.ts';
import { asObject, type JsonObject, readJsonObject } from './json.ts';
import { DROPPED_SETTINGS, KEPT_STATE, USER_FILES } from './manifest.ts';
import type { UserFiles } from './user-files.ts';

/** Bounds of what comes along from the user's directory. */
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_FILES = 2000;
const MAX_DEPTH = 8;

/** Fills `.claude` and `.claude.json` of a private home, so that nothing is asked at the first start. */
export async function seedPrivateHome(context: PrepareContext, files: UserFiles): Promise<void> {
  const target = join(context.homeDir, '.claude');
  await mkdir(target, { recursive: true, mode: 0o700 });
  await writeJson(join(context.homeDir, '.claude.json'), await seedState(context, files.state));
  const settings = await readJsonObject(files.settings);
  if (settings) await writeJson(join(target, 'settings.json'), filterSettings(settings));
  const budget = { files: MAX_FILES };
  for (const name of USER_FILES) await copyTree(join(files.configDir, name), join(target, name), budget, MAX_DEPTH);
}

async function seedState(context: PrepareContext, path: string): Promise<JsonObject> {
  const users = (await readJsonObject(path)) ?? {};
  const kept = KEPT_STATE.filter((key) => users[key] !== undefined).map((key) => [key, users[key]]);
  return {
    theme: 'dark',
    ...Object.fromEntries(kept),
    ...approvedKey(users, context.env.ANTHROPIC_API_KEY),
    hasCompletedOnboarding: true,
    bypassPermissionsModeAccepted: true,
    autoUpdates: false,
    projects: {
      [context.worktree]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true },
    },
  };
}

/** An API key is asked about once; it is known by its last 20 characters. */
function approvedKey(users: JsonObject, key: string | undefined): JsonObject {
  if (!key) return {};
  const responses = asObject(users.customApiKeyResponses) ?? {};
  const approved = Array.isArray(responses.approved) ? responses.approved : [];
  return { customApiKeyResponses: { ...responses, approved: [...new Set([...approved, key.slice(-20)])] } };
}

/** The user's settings without what cannot work here. Hooks come along: they run inside the sandbox. */
export function filterSettings(settings: JsonObject): JsonObject {
  const kept = Object.fromEntries(Object.entries(settings).filter(([key]) => !(key in DROPPED_SETTINGS)));
  const env = asObject(kept.env);
  if (!env) return kept;
  const { CLAUDE_CONFIG_DIR: _users, ...rest } = env;
  return { ...kept, env: rest };
}

/** Copies regular files and what links lead to, within bounds: a link may lead to anything, a whole disk among it. */
async function copyTree(from: string, to: string, budget: { files: number }, depth: number): Promise<void> {
  const found = await stat(from).catch(() => null);
  if (found?.isFile()) {
    if (found.size > MAX_FILE_BYTES || budget.files-- <= 0) return;
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await copyFile(from, to);
  } else if (found?.isDirectory() && depth > 0) {
    for (const name of await readdir(from).catch(() => [] as string[])) {
      if (name === '.git' || name === 'node_modules') continue;
      await copyTree(join(from, name), join(to, name), budget, depth - 1);
    }
  }
}

/**
 * Brings the transcript of an earlier attempt's session into this home. False when it is not there. That home was an
 * agent's to write: no link in it is followed.
 */
export async function carrySession(context: PrepareContext): Promise<boolean> {
  if (!context.resume) return false;
  const { session, homeDir } = context.resume;
  if (!/^[0-9a-f-]{36}$/.test(session)) return false;
  const way = ['.claude', 'projects', projectName(context.worktree), `${session}.jsonl`];
  if (!(await isRealPath(homeDir, way))) return false;
  if (homeDir === context.homeDir) return true;
  const target = join(context.homeDir, ...way);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await copyFile(join(homeDir, ...way), target);
  return true;
}

/** Claude Code's name for a directory: what is not a letter or digit becomes a dash. */
export function projectName(directory: string): string {
  return directory.replace(/[^a-zA-Z0-9]/g, '-');
}

async function isRealPath(root: string, way: readonly string[]): Promise<boolean> {
  let path = root;
  for (const [index, name] of way.entries()) {
    path = join(path, name);
    const found = await lstat(path).catch(() => null);
    if (!(index === way.length - 1 ? found?.isFile() : found?.isDirectory())) return false;
  }
  return true;
}

async function writeJson(path: string, value: JsonObject): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}
