/** How `drover` ends. The one table: `--help`, docs/cli.md and the code read it. */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'Everything succeeded.' },
  failed: { code: 1, meaning: 'Some task did not succeed, or a check found something missing.' },
  usage: { code: 2, meaning: 'The command line, the plan or the configuration is not valid.' },
  unreachable: { code: 3, meaning: 'The engine cannot be reached, or is of another version.' },
  notFound: { code: 4, meaning: 'There is no such task, plan, attempt or repository.' },
  refused: {
    code: 5,
    meaning: 'Refused: a level or limit that cannot be had, work that is not merged, tasks that are open.',
  },
  internal: { code: 70, meaning: 'A fault of drover itself.' },
  interrupted: { code: 130, meaning: 'Interrupted by Ctrl-C or a signal. Agents go on.' },
} as const satisfies Record<string, { code: number; meaning: string }>;

export type ExitName = keyof typeof EXIT_CODES;

/** Which error codes end with what. Whole codes, or a beginning that ends in `_`. */
const BY_ERROR: ReadonlyArray<readonly [ExitName, readonly string[]]> = [
  ['failed', ['wait_timeout']],
  ['unreachable', ['engine_', 'socket_path_too_long']],
  [
    'notFound',
    [
      'no_such_',
      'no_attempt',
      'no_log',
      'no_commits_yet',
      'no_commits',
      'not_a_repository',
      'no_repository',
      'not_found',
    ],
  ],
  ['refused', ['plan_running', 'task_exists']],
  [
    'usage',
    ['usage', 'bad_', 'plan_', 'task_invalid', 'config_', 'invalid_', 'unit_invalid', 'ambiguous_', 'unknown_'],
  ],
  [
    'refused',
    [
      'level_',
      'limit_',
      'unmerged',
      'tasks_open',
      'task_open',
      'task_active',
      'queue_full',
      'repository_',
      'branch_taken',
      'worktree_',
      'git_missing',
      'git_too_old',
      'basic_as_root',
      'database_',
      'agent_',
      'helper_',
      'not_permitted',
      'not_live',
      'no_tty',
      'root_',
      'refused',
    ],
  ],
];

/** The exit code for an error of this code. */
export function exitCodeOf(errorCode: string): number {
  const hit = BY_ERROR.find(([, codes]) =>
    codes.some((c) => (c.endsWith('_') ? errorCode.startsWith(c) : errorCode === c)),
  );
  return EXIT_CODES[hit?.[0] ?? 'internal'].code;
}

/** The table as text, for `drover --help`. */
export function exitCodesHelp(): string {
  const lines = Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padEnd(4)}${meaning}`);
  return ['Exit codes:', ...lines].join('\n');
}
