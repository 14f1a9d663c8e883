/** Where one git command works. All of it is said explicitly, so that nothing is discovered and no ownership is guessed. */
export interface GitPlace {
  gitDir: string;
  workTree?: string;
  indexFile?: string;
  /** Where new objects go; absent: the repository's own. */
  objectDir?: string;
}

/**
 * Flags of every git command of the engine. A repository's configuration, and what an agent left in a worktree, can name
 * programs: each line takes one such way out of use, or keeps git from leaving files in the user's `.git`.
 */
const HARDENED: readonly string[] = [
  'core.fsmonitor=false', // a command, run by status and add
  'core.hooksPath=/dev/null', // post-checkout, post-index-change, reference-transaction
  'core.splitIndex=false', // would leave sharedindex files in the git directory, and an index that cannot be copied
  'core.untrackedCache=false',
  'submodule.recurse=false', // submodules have configuration of their own
  'diff.ignoreSubmodules=all',
  'commit.gpgSign=false',
  'log.showSignature=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'core.quotePath=false',
  'color.ui=false',
];

/** No transport may be used: a lazy fetch or a URL in a `.gitmodules` goes nowhere. */
const NO_TRANSPORT = 'protocol.allow=never';
/** A directory that looks like a bare repository is not taken for one; the engine always names its own. */
const NO_DISCOVERED_BARE = 'safe.bareRepository=explicit';

/** Key and value. Passed by the environment, where a key may hold `=`. */
export type ConfigEntry = readonly [key: string, value: string];

export interface FlagOptions {
  /** Extra configuration for this command. */
  config?: readonly ConfigEntry[];
  /** Lets a partial clone fetch from the user's own remote. Never set where an agent's content is involved. */
  allowFetch?: boolean;
  /** Only for finding the repository that the user stands in. */
  discover?: boolean;
}

/** The `-c` flags in front of a command of the engine's git. */
export function gitFlags({ allowFetch = false, discover = false }: FlagOptions = {}): string[] {
  const all = [...HARDENED];
  if (!allowFetch) all.push(NO_TRANSPORT);
  if (!discover) all.push(NO_DISCOVERED_BARE);
  return ['--no-pager', ...all.flatMap((entry) => ['-c', entry])];
}

/** The environment of the engine's git: the caller's without any `GIT_*`, in the C locale, never asking anything. */
export function gitEnvironment(
  place: GitPlace | null,
  base: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  return {
    ...withoutGit(base),
    LC_ALL: 'C',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    GIT_EDITOR: 'false',
    GIT_SEQUENCE_EDITOR: 'false',
    ...(place && placeEnvironment(place)),
  };
}

/** An environment without its `GIT_*` variables: a stray GIT_DIR or GIT_CONFIG_COUNT would steer every command. */
export function withoutGit(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !name.startsWith('GIT_')) clean[name] = value;
  }
  return clean;
}

function placeEnvironment(place: GitPlace): Record<string, string> {
  return {
    GIT_DIR: place.gitDir,
    ...(place.workTree !== undefined && { GIT_WORK_TREE: place.workTree }),
    ...(place.indexFile !== undefined && { GIT_INDEX_FILE: place.indexFile }),
    ...(place.objectDir !== undefined && { GIT_OBJECT_DIRECTORY: place.objectDir }),
  };
}

/** Configuration entries as environment variables. */
export function configEnvironment(config: readonly ConfigEntry[] = []): Record<string, string> {
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(config.length) };
  for (const [n, [key, value]] of config.entries()) {
    env[`GIT_CONFIG_KEY_${n}`] = key;
    env[`GIT_CONFIG_VALUE_${n}`] = value;
  }
  return env;
}
