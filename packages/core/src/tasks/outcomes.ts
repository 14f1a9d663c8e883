/**
 * How an attempt can end, and what follows. The one table of outcomes: scheduler, CLI, MCP and docs read it.
 *
 * `retry`: may another attempt follow by itself. `costs`: does this attempt count against `maxAttempts`.
 * `change`: what the next attempt does differently. `worktree`: `fresh` takes a new slot, `same` continues in the old one.
 */
export interface OutcomeRule {
  /** True when the task is done and its commits become the result. */
  readonly success: boolean;
  readonly retry: boolean;
  readonly costs: boolean;
  readonly change: 'nothing' | 'more_memory' | 'resume' | 'after_reset';
  readonly worktree: 'fresh' | 'same';
  /** One sentence for people. */
  readonly meaning: string;
  /** One sentence: what a person can do. Empty for success. */
  readonly advice: string;
}

const final = (meaning: string, advice: string): OutcomeRule => ({
  success: false,
  retry: false,
  costs: true,
  change: 'nothing',
  worktree: 'fresh',
  meaning,
  advice,
});

export const OUTCOMES = {
  ok: { ...final('Done, with every piece of evidence that was asked for.', ''), success: true },
  ok_lingered: {
    ...final('Done, but the agent did not exit by itself and was ended after its grace time.', ''),
    success: true,
  },
  agent_error: final(
    'The agent itself reported an error or exited with a failure.',
    'Read its log: `drover logs TASK`.',
  ),
  no_result: {
    ...final('The agent exited without saying that it had finished.', 'Read its log: `drover logs TASK`.'),
    retry: true,
  },
  no_changes: final(
    'The agent finished, but changed nothing although the task expects changes.',
    'Make the prompt more exact, or set `expects: none`.',
  ),
  verify_failed: final('The verify command failed.', 'Read its output: `drover logs TASK --verify`.'),
  permission_blocked: final(
    'The agent was refused a permission and could not go on.',
    'See which in its log; grant it in the agent settings of your configuration.',
  ),
  rate_limited: {
    ...final('The account hit a rate limit.', 'Nothing: it runs again after the reset.'),
    retry: true,
    costs: false,
    change: 'after_reset',
  },
  auth_failed: final('The agent could not log in.', 'Log in with the agent itself, then run again.'),
  context_exhausted: final('The conversation outgrew the model.', 'Split the task.'),
  turn_limit: final('The limit of turns was reached.', 'Raise `max_turns`, or split the task.'),
  budget_exhausted: final('The budget was used up.', 'Raise `max_budget_usd`, or split the task.'),
  timeout_wall: final('The wall-clock limit was reached.', 'Raise `timeout`, or split the task.'),
  timeout_idle: {
    ...final('No output and no CPU use for too long.', 'Read its log: what was it waiting for?'),
    retry: true,
  },
  oom_killed: {
    ...final('The kernel ended it at its memory limit.', 'Raise `limits.memory`.'),
    retry: true,
    change: 'more_memory',
  },
  pids_exhausted: final('It ran into its limit of processes.', 'Raise `limits.pids`, or see what forks so much.'),
  cancelled: final('It was stopped.', 'Run the plan again to continue.'),
  merge_conflict: final(
    'The results of its dependencies cannot be merged without a person.',
    'Merge them by hand, or order the tasks one after the other.',
  ),
  setup_failed: final(
    'A setup command failed, so no agent was started.',
    'Read its output: `drover logs TASK --setup`.',
  ),
  sandbox_failed: {
    ...final('The sandbox could not be made or did not pass its checks.', 'Run `drover doctor`.'),
    retry: true,
  },
  keeper_lost: {
    ...final('Keeper and agent were lost: a reboot or a kill from outside.', 'Run the plan again.'),
    retry: true,
    costs: false,
  },
} as const satisfies Record<string, OutcomeRule>;

export type Outcome = keyof typeof OUTCOMES;

/** The rule of an outcome, in the table's wide type. */
export function outcomeRule(outcome: Outcome): OutcomeRule {
  return OUTCOMES[outcome];
}
