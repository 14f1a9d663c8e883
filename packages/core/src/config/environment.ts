import { badValue, describe } from './values.ts';

type Env = Readonly<Record<string, string>>;

/** Variables that every agent gets of the submission's environment, where they are set. `*` at an end stands for anything. */
export const SHIPPED_ENVIRONMENT: readonly string[] = [
  'PATH',
  'LANG',
  'LANGUAGE',
  'LC_*',
  'TZ',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'CI',
];

/** Set by Drover itself; a file that sets them would break the attempt. */
const RESERVED = ['DROVER_*', 'HOME', 'GIT_DIR', 'GIT_WORK_TREE', 'GIT_COMMON_DIR', 'GIT_INDEX_FILE'];

/**
 * They name keys, or the place that keys are sent to: an agent that is told of another server would give it the user's
 * credentials. Only the user's own configuration may set them.
 */
const SENSITIVE = ['*_API_KEY', '*_AUTH_TOKEN', '*_BASE_URL', '*_API_BASE', '*_ENDPOINT', '*_PROXY'];

/** Does a name match one of the patterns (`LC_*`, `*_API_KEY`, or a name itself)? */
export function matchesName(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    if (pattern.endsWith('*')) return name.startsWith(pattern.slice(0, -1));
    if (pattern.startsWith('*')) return name.endsWith(pattern.slice(1));
    return name === pattern;
  });
}

/** What of an environment is passed on. */
export function passEnvironment(env: Env, patterns: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => matchesName(name, patterns)));
}

/** Is this variable one that only the user's own configuration may set? */
export function isSensitiveVariable(name: string): boolean {
  return matchesName(name.toUpperCase(), SENSITIVE);
}

/** Reads a mapping of variables; numbers and booleans become texts. */
export function toEnvironment(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badValue(`must be a mapping of names to texts, is ${describe(value)}`);
  }
  const env: Record<string, string> = {};
  for (const [name, item] of Object.entries(value)) {
    checkName(name);
    if (item === null || typeof item === 'object') throw badValue(`\`${name}\` must be a text, is ${describe(item)}`);
    const text = String(item);
    if (text.includes('\0')) throw badValue(`\`${name}\` holds a NUL character`);
    env[name] = text;
  }
  return env;
}

function checkName(name: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw badValue(`\`${name}\` cannot be the name of a variable`);
  if (matchesName(name, RESERVED)) throw badValue(`\`${name}\` is set by Drover itself`, 'Remove it.');
}

/** Reads a pattern of `environment.pass`: a name, or a beginning and `*`. */
export function checkPattern(pattern: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*\*?$/.test(pattern)) return pattern;
  throw badValue(
    `\`${pattern}\` is neither the name of a variable nor a beginning and \`*\``,
    'Such as `AWS_PROFILE` or `NPM_CONFIG_*`.',
  );
}
