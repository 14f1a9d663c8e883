import { existsSync } from 'node:fs';
import { type AttemptView, LIMIT_RULES, type LimitKey, type TaskDetail } from '@drover/core/client';
import { bytes, dateTime, duration, orDash } from './format.ts';
import type { Output } from './output.ts';
import { stateStyle, stateWord } from './task-columns.ts';
import { cleanLine, cleanText } from './term/sanitize.ts';

/** All that is known of one task, for people. */
export async function showTask(task: TaskDetail, out: Output): Promise<undefined> {
  out.document(task);
  const style = stateStyle(task);
  const state = style ? out.style(style, stateWord(task)) : stateWord(task);
  out.line(`${out.style('bold', cleanLine(task.ref))}  ${state}`);
  const why = task.state === 'active' ? task.activity : task.reason;
  if (why) out.line(`  ${cleanLine(why)}`);
  for (const [name, value] of factsOf(task)) out.line(`  ${name.padEnd(11)}${cleanLine(value)}`);
  for (const attempt of task.history) {
    out.line();
    out.lines(attemptLines(attempt));
  }
}

function factsOf(task: TaskDetail): Array<[string, string]> {
  const limits = Object.entries(task.limits).map(([key, value]) => limitText(key as LimitKey, value));
  const peak = task.memoryPeakBytes === null ? '' : `, peak ${bytes(task.memoryPeakBytes)}`;
  const all: Array<[string, string | null]> = [
    ['agent', [task.agent, task.model].filter(Boolean).join(', ')],
    ['work', task.prompt ?? task.command?.join(' ') ?? null],
    ['verify', task.verify?.join(' ') ?? null],
    ['after', task.dependsOn.join(', ') || null],
    ['level', task.level],
    ['limits', limits.join(', ') || null],
    ['priority', `${task.class}, ${task.priority}`],
    ['time', task.startedMs === null ? null : `${duration(task.elapsedMs)}, CPU ${duration(task.cpuMs)}`],
    ['memory', task.memoryBytes === null && !peak ? null : `${bytes(task.memoryBytes)}${peak}`],
    ['usage', usageLine(task)],
    ['branch', task.branch],
    ['repository', task.repository],
  ];
  return all.flatMap(([name, value]) => (value ? [[name, value] as [string, string]] : []));
}

/** `memory 4 GB`: a limit by the name it has in files, in the unit it is read in. */
function limitText(key: LimitKey, value: number | string): string {
  const { key: name, unit } = LIMIT_RULES[key];
  if (unit === 'bytes') return `${name} ${bytes(Number(value))}`;
  if (unit === 'rate') return `${name} ${bytes(Number(value))}/s`;
  return `${name} ${value}`;
}

/** A worktree that is gone is not shown as if one could go there. */
function worktreeText(path: string | null): string {
  if (path === null) return orDash(path);
  return existsSync(path) ? cleanLine(path) : 'removed';
}

function usageLine({ usage }: TaskDetail): string | null {
  const parts: string[] = [];
  if (usage.inputTokens !== undefined) parts.push(`${usage.inputTokens} tokens in`);
  if (usage.outputTokens !== undefined) parts.push(`${usage.outputTokens} out`);
  if (usage.turns !== undefined) parts.push(`${usage.turns} turns`);
  if (usage.costUsd !== undefined) parts.push(`$${usage.costUsd.toFixed(2)}`);
  return parts.length > 0 ? parts.join(', ') : null;
}

function attemptLines(attempt: AttemptView): string[] {
  const state = attempt.outcome ?? attempt.state;
  const lines = [
    `  attempt ${attempt.number}  ${state}  ${dateTime(attempt.startedMs)}`,
    ...(attempt.reason ? [`    ${cleanLine(attempt.reason)}`] : []),
    `    ${attempt.level}; limits ${attempt.enforced.join(', ') || 'none'}; network ${cleanLine(attempt.network)}`,
    `    worktree ${worktreeText(attempt.worktree)}`,
    `    files    ${cleanLine(attempt.directory)}`,
  ];
  const summary =
    attempt.summary === null
      ? []
      : cleanText(attempt.summary)
          .split('\n')
          .map((line) => `    | ${line}`);
  return [...lines, ...summary];
}
