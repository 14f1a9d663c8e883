import type { AgentReport, Usage } from '../agents/types.ts';
import type { AttemptView, TaskDetail, TaskView } from '../api/contract.ts';
import { attemptPaths } from '../attempts/paths.ts';
import type { SandboxStats } from '../sandbox/types.ts';
import type { Attempt, TaskWithPlan } from '../store/index.ts';
import type { Level, TaskDefinition } from '../tasks/definition.ts';
import type { Limits } from '../tasks/limits.ts';
import { refOf } from './refs.ts';

/** What is known of a task beyond its records, while it runs. */
export interface Live {
  report: AgentReport | undefined;
  stats: SandboxStats | undefined;
}

/** A task as clients see it. `level` is its plan's. */
export function taskView(
  task: TaskWithPlan,
  attempts: readonly Attempt[],
  level: Level,
  live: Live | undefined,
  nowMs: number,
): TaskView {
  const definition = JSON.parse(task.definition_json) as TaskDefinition;
  const last = attempts.at(-1);
  const limits = last ? (JSON.parse(last.limits_json) as Limits) : definition.limits;
  return {
    ref: refOf(task),
    plan: task.plan_name,
    task: task.name,
    repository: task.repository,
    type: definition.type,
    class: definition.class,
    priority: definition.priority,
    agent: definition.agent,
    model: live?.report?.model ?? definition.model ?? null,
    level: last?.level ?? level,
    state: task.state,
    attemptState: last && task.state === 'active' ? last.state : null,
    outcome: task.outcome,
    reason: task.reason,
    dependsOn: definition.dependsOn,
    attempts: attempts.length,
    submittedMs: task.submitted_ms,
    startedMs: task.started_ms,
    endedMs: task.ended_ms,
    elapsedMs: task.started_ms === null ? 0 : (task.ended_ms ?? nowMs) - task.started_ms,
    cpuMs: milliseconds(live?.stats?.cpuUs ?? last?.cpu_us),
    memoryBytes: live?.stats?.memoryBytes ?? null,
    memoryPeakBytes: live?.stats?.memoryPeakBytes ?? last?.memory_peak ?? null,
    memoryLimitBytes: limits.memory ?? null,
    pids: live?.stats?.pids ?? null,
    commits: task.commits,
    branch: task.branch,
    result: task.result,
    usage: totalUsage(attempts, live?.report),
    activity: live?.report?.activity ?? null,
  };
}

export function taskDetail(
  view: TaskView,
  task: TaskWithPlan,
  attempts: readonly Attempt[],
  stateDir: string,
): TaskDetail {
  const definition = JSON.parse(task.definition_json) as TaskDefinition;
  return {
    ...view,
    prompt: definition.prompt ?? null,
    command: definition.command ?? null,
    verify: definition.verify ?? null,
    limits: definition.limits as Record<string, number | string>,
    history: attempts.map((attempt) => attemptView(attempt, stateDir)),
  };
}

function attemptView(attempt: Attempt, stateDir: string): AttemptView {
  return {
    id: attempt.id,
    number: attempt.number,
    state: attempt.state,
    outcome: attempt.outcome,
    reason: attempt.reason,
    level: attempt.level,
    enforced: JSON.parse(attempt.enforced_json) as string[],
    network: 'host',
    agentVersion: attempt.agent_version,
    sessionId: attempt.session_id,
    base: attempt.base,
    head: attempt.head,
    worktree: attempt.worktree,
    directory: attemptPaths(stateDir, attempt.id).dir,
    startedMs: attempt.started_ms,
    endedMs: attempt.ended_ms,
    summary: attempt.summary,
  };
}

/** Usage of all attempts; the running one's comes from what it reported so far. */
function totalUsage(attempts: readonly Attempt[], report: AgentReport | undefined): Usage {
  const total: Record<string, number> = {};
  const usages = attempts.map((attempt) => JSON.parse(attempt.usage_json) as Usage);
  if (report && attempts.at(-1)?.state === 'running') usages.push(report.usage);
  for (const usage of usages)
    for (const [key, value] of Object.entries(usage)) if (value !== undefined) total[key] = (total[key] ?? 0) + value;
  return total as Usage;
}

function milliseconds(us: number | null | undefined): number | null {
  return us === null || us === undefined ? null : Math.round(us / 1000);
}
