import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mount } from '../../sandbox/types.ts';
import { hasMounts } from '../environment.ts';
import { probe } from '../probe.ts';
import type { AccountContext, Env, PrepareContext } from '../types.ts';
import { which } from '../which.ts';
import { asObject, type JsonObject, readJsonObject } from './json.ts';
import { TOKEN_VARIABLES } from './manifest.ts';
import { userFiles } from './user-files.ts';

/**
 * Theory. A login of Claude Code is an access token of some hours and a refresh token that is replaced at each use. Two
 * that refresh by themselves log each other out, and the locks that Claude Code takes lie beside the file, so that they
 * hold only among processes that share the directory. That directory also holds settings with hooks, which an agent must
 * not write.
 *
 * So the refresh token stays where it is and only the user's own Claude Code uses it, under its own locks. Agents share
 * one published file with the access token alone, in a directory that they find read-only. Before the token runs out the
 * engine lets the user's Claude Code renew it and publishes again; a running agent sees that the file is newer and reads
 * it before its next request. Details and measurements: docs/security-model.md, "Credentials".
 */
const PUBLISHED = '.credentials.json';

/** Where agents find the published file's directory, under their `.claude`. */
const ACCOUNT_DIR = '.account';

/** Claude Code renews a token that has less than about five minutes left, not one that has more. */
const RENEW_BELOW_MS = 5 * 60_000;
const RENEW_EVERY_MS = 45_000;

/** How an agent of this submission logs in. */
export type Login =
  | { kind: 'variable'; name: string; detail: string }
  | { kind: 'helper'; detail: string }
  | { kind: 'account'; detail: string }
  | { kind: 'none'; detail: string };

/** Finds out. Variables win, as they do in Claude Code itself. */
export async function findLogin(env: Env, userHome: string): Promise<Login> {
  for (const [name, what] of Object.entries(TOKEN_VARIABLES)) {
    if (env[name]) return { kind: 'variable', name, detail: `${name} (${what}).` };
  }
  const files = userFiles(env, userHome);
  const settings = await readJsonObject(files.settings);
  if (typeof settings?.apiKeyHelper === 'string') {
    return { kind: 'helper', detail: `apiKeyHelper of ${files.settings}: it runs in the sandbox.` };
  }
  const oauth = await readOauth(files.credentials);
  if (!oauth) {
    return { kind: 'none', detail: `No ${files.credentials} and no ${Object.keys(TOKEN_VARIABLES).join(', ')}.` };
  }
  return { kind: 'account', detail: `Account of ${files.credentials}.` };
}

async function readOauth(path: string): Promise<JsonObject | null> {
  const oauth = asObject((await readJsonObject(path))?.claudeAiOauth);
  return typeof oauth?.accessToken === 'string' && oauth.accessToken ? oauth : null;
}

/** Puts the account's published file into a private home. Returns the mount that it needs. */
export async function linkAccount(context: PrepareContext): Promise<Mount[]> {
  const shared = accountDir(context);
  const link = join(context.homeDir, '.claude', PUBLISHED);
  await rm(link, { force: true });
  if (!hasMounts(context)) {
    await symlink(join(shared, PUBLISHED), link);
    return [];
  }
  await symlink(join(ACCOUNT_DIR, PUBLISHED), link);
  return [{ kind: 'ro', src: shared, dst: join(context.homePath, '.claude', ACCOUNT_DIR) }];
}

/** One renewal at a time: the user's Claude Code would wait for its own lock, and each takes a second of CPU. */
let renewing: Promise<void> = Promise.resolve();
let renewedAt = Number.NEGATIVE_INFINITY;

/**
 * Lets the user's Claude Code renew a token that is about to run out, then publishes it. Answers with what went wrong, or
 * null. Cheap while the token is good.
 */
export async function publishAccount(context: AccountContext, now: () => number = Date.now): Promise<string | null> {
  const { credentials } = userFiles(context.env, context.userHome);
  if (leftMs(await readOauth(credentials), now()) < RENEW_BELOW_MS) await renewOnce(context, now);
  const oauth = await readOauth(credentials);
  if (!oauth) return `${credentials} holds no login any more.`;
  await publish(accountDir(context), oauth);
  return leftMs(oauth, now()) > 0
    ? null
    : `The login in ${credentials} has run out and could not be renewed: log in again.`;
}

function leftMs(oauth: JsonObject | null, now: number): number {
  return typeof oauth?.expiresAt === 'number' ? oauth.expiresAt - now : Number.POSITIVE_INFINITY;
}

async function renewOnce(context: AccountContext, now: () => number): Promise<void> {
  renewing = renewing.then(async () => {
    if (now() - renewedAt < RENEW_EVERY_MS) return;
    renewedAt = now();
    await askForRenewal(context);
  });
  await renewing;
}

/** `auth status` renews what is about to run out, under Claude Code's own locks, and asks no model anything. */
async function askForRenewal({ env, userHome }: AccountContext): Promise<void> {
  const claude = await which('claude', env, userHome);
  if (!claude) return;
  const own = Object.entries(env).filter(([name]) => !(name in TOKEN_VARIABLES) && name !== 'CLAUDECODE');
  const childEnv = { ...Object.fromEntries(own), HOME: userHome, DISABLE_AUTOUPDATER: '1' };
  await probe(claude, ['auth', 'status'], { env: childEnv, timeoutMs: 30_000 });
}

/**
 * The file may be read by anybody who gets there, and only the owner of the state directory and agents of this account
 * do: an agent can have a uid of its own.
 */
async function publish(directory: string, oauth: JsonObject): Promise<void> {
  const { refreshToken: _stays, ...shared } = oauth;
  const text = JSON.stringify({ claudeAiOauth: shared });
  const path = join(directory, PUBLISHED);
  // Unchanged is left alone: every agent reads a file anew that looks newer.
  if ((await readFile(path, 'utf8').catch(() => null)) === text) return;
  await mkdir(directory, { recursive: true });
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(temporary, text, { mode: 0o600 });
  // Said again, since the umask has a say in the modes above.
  await chmod(directory, 0o755);
  await chmod(temporary, 0o644);
  await rename(temporary, path);
}

/** A directory per login: CLAUDE_CONFIG_DIR is how people keep several accounts. */
function accountDir({ accountsDir, env, userHome }: AccountContext): string {
  const account = createHash('sha256').update(userFiles(env, userHome).credentials).digest('hex').slice(0, 12);
  return join(accountsDir, `claude-${account}`);
}
