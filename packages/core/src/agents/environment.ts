import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Env, PrepareContext } from './types.ts';

/** Variables that every agent may see and that name a file or directory, which must be visible inside. */
export const PATH_VARIABLES: readonly string[] = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'PIP_CERT',
];

/**
 * What every agent may see of a submission's environment: names, or prefixes ending in `*`. Nothing else comes along, so
 * that a key of one tool is never handed to another. Adapters add their own (`AgentAdapter.environment`).
 */
export const COMMON_ENVIRONMENT: readonly string[] = [
  'PATH',
  'LANG',
  'LANGUAGE',
  'LC_*',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'FORCE_COLOR',
  'TZ',
  // Who commits, where the user says so by environment.
  'GIT_AUTHOR_NAME',
  'GIT_AUTHOR_EMAIL',
  'GIT_COMMITTER_NAME',
  'GIT_COMMITTER_EMAIL',
  // A company's network: proxies and the authorities that sign for them.
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
  ...PATH_VARIABLES,
];

/** Git settings of agents: housekeeping belongs to whoever owns the object store. */
const GIT_SETTINGS: Env = { 'gc.auto': '0', 'maintenance.auto': 'false' };

/** Keeps the variables that a list of names and prefixes allows. */
export function keepVariables(env: Env, allowed: readonly string[]): Record<string, string> {
  const names = new Set(allowed);
  const prefixes = allowed.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))),
  );
}

/**
 * The environment of an agent: what it may see of the submission's, then the task's own, then what the sandbox says of
 * itself. The last cannot be overridden: a task that moved HOME would find the user's.
 */
export function agentEnvironment(context: PrepareContext, own: readonly string[]): Record<string, string> {
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    ...keepVariables(context.env, [...COMMON_ENVIRONMENT, ...own]),
    ...context.task.env,
    ...placeVariables(context),
    ...gitVariables(),
  };
}

function placeVariables(context: PrepareContext): Record<string, string> {
  const home = context.homePath;
  const user = userName();
  return {
    HOME: home,
    USER: user,
    LOGNAME: user,
    SHELL: existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh',
    TMPDIR: hasMounts(context) ? '/tmp' : join(home, 'tmp'),
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_STATE_HOME: join(home, '.local/state'),
    DROVER_TASK: context.task.id,
    DROVER_PLAN: context.plan,
    DROVER_ATTEMPT: String(context.attempt),
  };
}

/** Whether the private home is mounted over the user's, with toolchains on top. In `basic` nothing is mounted. */
export function hasMounts(context: Pick<PrepareContext, 'homeDir' | 'homePath'>): boolean {
  return context.homeDir !== context.homePath;
}

/** A root engine's agents run as a uid without a name; they are not told that they are root. */
function userName(): string {
  const { uid, username } = userInfo();
  return uid === 0 ? 'agent' : username;
}

function gitVariables(): Record<string, string> {
  const settings = Object.entries(GIT_SETTINGS).flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    ...Object.fromEntries(settings),
    GIT_CONFIG_COUNT: String(Object.keys(GIT_SETTINGS).length),
    // Nobody is there to answer.
    GIT_TERMINAL_PROMPT: '0',
  };
}
