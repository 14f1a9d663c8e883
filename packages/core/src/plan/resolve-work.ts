import {
  type AdapterInfo,
  type Issue,
  isSensitiveVariable,
  type LoadedConfig,
  sensitiveIssue,
  type TimeoutSettings,
} from '../config/index.ts';
import { PRIORITIES, type TaskDefinition } from '../tasks/definition.ts';
import { nameProblem } from '../tasks/names.ts';
import { chooseLimits, type MachineFacts } from './choose-limits.ts';
import { chooseWork } from './choose-work.ts';
import { firstSaid, type Level, levelIssue } from './level.ts';

/** Types whose work changes nothing by its nature. All others are expected to leave a change. */
export const EXPECTS_NONE: readonly string[] = ['setup', 'test', 'tests', 'review'];

export interface ResolveInput {
  id: string;
  type: string;
  dependsOn: string[];
  base?: string | undefined;
  /** From the most specific one; the first is the task itself. */
  levels: readonly Level[];
  loaded: LoadedConfig;
  ceiling: LoadedConfig;
  adapters: readonly AdapterInfo[];
  agentOverride?: string | undefined;
  machine?: MachineFacts | undefined;
}

/** The task with every level and all of configuration applied; null when something is wrong with it. */
export function resolveWork(input: ResolveInput, issues: Issue[]): TaskDefinition | null {
  const { id, type, levels, loaded, ceiling } = input;
  const { config } = loaded;
  const before = issues.length;
  const work = chooseWork({ task: id, ...input, config }, issues);
  const { limits, limitsAsked } = chooseLimits({ levels, config, ceiling, machine: input.machine }, issues);
  for (const level of levels) checkLevel(level, issues);
  const bad = nameProblem(id);
  if (bad !== null) issues.push(levelIssue(levels[0]!, ['id'], `\`${id.slice(0, 80)}\` ${bad}`));
  if (work === null || issues.length > before) return null;
  const verify = firstSaid(levels, (said) => said.verify);
  const maxTurns = firstSaid(levels, (said) => said.max_turns);
  const maxBudgetUsd = firstSaid(levels, (said) => said.max_budget_usd);
  return {
    id,
    type,
    class: firstSaid(levels, (said) => said.class) ?? 'batch',
    priority: firstSaid(levels, (said) => said.priority) ?? PRIORITIES.medium,
    dependsOn: input.dependsOn,
    ...work,
    ...(verify === undefined ? {} : { verify }),
    expects: firstSaid(levels, (said) => said.expects) ?? (EXPECTS_NONE.includes(type) ? 'none' : 'changes'),
    limits,
    limitsAsked,
    oom: firstSaid(levels, (said) => said.oom) ?? 'kill',
    ...chooseTimeouts(levels, loaded),
    ...(input.base === undefined ? {} : { base: input.base }),
    env: Object.assign({}, ...[...levels].reverse().map((level) => level.settings.env)),
    maxAttempts: firstSaid(levels, attempts) ?? config.maxAttempts,
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(maxBudgetUsd === undefined ? {} : { maxBudgetUsd }),
    setup: firstSaid(levels, (said) => said.setup) ?? config.setup,
  };
}

function attempts({ max_attempts, retries }: Level['settings']): number | undefined {
  return max_attempts ?? (retries === undefined ? undefined : retries + 1);
}

type Timeouts = Pick<
  TaskDefinition,
  'timeoutWallMs' | 'timeoutIdleMs' | 'timeoutSetupMs' | 'timeoutVerifyMs' | 'graceMs'
>;

function chooseTimeouts(levels: readonly Level[], { config }: LoadedConfig): Timeouts {
  const said = (key: keyof TimeoutSettings, otherwise: number | null) => {
    const value = firstSaid(levels, ({ timeouts, timeout }) =>
      key === 'wall' && timeout !== undefined ? timeout : timeouts?.[key],
    );
    return value === undefined ? otherwise : value;
  };
  return {
    timeoutWallMs: said('wall', config.timeouts.wallMs),
    timeoutIdleMs: said('idle', config.timeouts.idleMs),
    timeoutSetupMs: said('setup', config.timeouts.setupMs),
    timeoutVerifyMs: said('verify', config.timeouts.verifyMs),
    graceMs: said('grace', config.timeouts.graceMs) ?? config.timeouts.graceMs,
  };
}

/** What is wrong with a level by itself. */
function checkLevel(level: Level, issues: Issue[]): void {
  const { timeout, timeouts, retries, max_attempts, model, command } = level.settings;
  const twice = (path: string[], other: string) =>
    issues.push(levelIssue(level, path, `sets the same as \`${other}\``, 'Keep one of them.'));
  if (timeout !== undefined && timeouts?.wall !== undefined) twice(['timeout'], 'timeouts.wall');
  if (retries !== undefined && max_attempts !== undefined) twice(['retries'], 'max_attempts');
  if (level.kind === 'task' && model !== undefined && command !== undefined) {
    issues.push(levelIssue(level, ['model'], `${level.title} is a command: it has no model`, 'Remove `model`.'));
  }
  if (level.trusted) return;
  for (const name of Object.keys(level.settings.env ?? {}).filter(isSensitiveVariable)) {
    issues.push(sensitiveIssue(level.source, [...level.path, 'env', name], name));
  }
}
