import { basename, extname } from 'node:path';
import {
  type AdapterInfo,
  checkSource,
  didYouMean,
  formatPlace,
  type Issue,
  issueAt,
  type LoadedConfig,
  parseSource,
  type Source,
  throwIssues,
  withLayer,
} from '../config/index.ts';
import type { PlanDefinition, TaskDefinition } from '../tasks/definition.ts';
import { nameProblem, SOLO_PLAN, toName } from '../tasks/names.ts';
import { impossibleLimits, type MachineFacts } from './choose-limits.ts';
import { PLAIN_TYPE } from './choose-work.ts';
import { findCycles } from './graph.ts';
import type { Level } from './level.ts';
import { planConfigSource } from './plan-config.ts';
import { defaultsSchema, type PlanSettings, planSchema, type TaskSettings, taskSchema } from './plan-schema.ts';
import { resolveWork } from './resolve-work.ts';
import { typeLevel } from './type-level.ts';

const CODE = 'plan_invalid';

export interface LoadPlanInput {
  /** The plan's file as the user named it: for messages and the plan's default name. */
  file: string;
  /** YAML or JSON. */
  text: string;
  /** All other layers, flags among them. */
  config: LoadedConfig;
  adapters: readonly AdapterInfo[];
  /** Takes the place of every task's own agent. */
  agent?: string | undefined;
  /** Absent: limits are not held against a machine. */
  machine?: MachineFacts | undefined;
}

export interface LoadedPlan {
  plan: PlanDefinition;
  /** Configuration with the plan's layer. */
  config: LoadedConfig;
}

/** Reads a plan into complete tasks. Throws {@link ConfigError} with everything that is wrong, before anything starts. */
export function loadPlan(input: LoadPlanInput): PlanDefinition {
  return readPlan(input).plan;
}

/** As {@link loadPlan}, with the configuration that holds for the plan. */
export function readPlan(input: LoadPlanInput): LoadedPlan {
  const issues: Issue[] = [];
  const source = parseSource(input, CODE, issues);
  const settings = source && checkSource(planSchema, source, CODE, issues);
  if (!source || !settings) {
    throwIssues(CODE, issues);
    throw new Error('a plan that cannot be read has an issue');
  }
  const config = withLayer(input.config, 'plan', planConfigSource(source, issues), issues);
  refuseImpossibleConfig(config, input.machine, issues);
  const tasks = readTasks({ ...input, source, settings, loaded: config }, issues);
  const name = planName(source, settings, issues);
  throwIssues(CODE, issues);
  const { isolationLevel, maxParallelAgents, maxQueueSize, strategy, keepWorktrees } = config.config;
  const plan: PlanDefinition = {
    name,
    tasks,
    base: settings.base ?? 'HEAD',
    ...(isolationLevel === undefined ? {} : { level: isolationLevel }),
    maxParallelAgents,
    maxQueueSize,
    strategy,
    keepWorktrees,
    warnings: [...config.warnings],
  };
  return { plan, config };
}

function planName(source: Source, { name }: PlanSettings, issues: Issue[]): string {
  const chosen = name ?? toName(basename(source.file, extname(source.file)));
  const problem = chosen === SOLO_PLAN ? 'is the name of tasks without a plan' : nameProblem(chosen);
  if (problem !== null) {
    issues.push(
      issueAt(
        source,
        ['name'],
        CODE,
        `the plan's name \`${chosen.slice(0, 80)}\` ${problem}`,
        'Give it another `name:`.',
      ),
    );
  }
  return chosen;
}

function refuseImpossibleConfig(config: LoadedConfig, machine: MachineFacts | undefined, issues: Issue[]): void {
  for (const [name, problem] of impossibleLimits(config.config.limits, machine)) {
    const entry = config.entries.get(`limits.${name}`);
    if (entry?.at) issues.push(issueAt(entry.at.source, entry.at.path, CODE, problem));
  }
}

interface TasksInput extends LoadPlanInput {
  source: Source;
  settings: PlanSettings;
  loaded: LoadedConfig;
}

/** What is known of a task before it is resolved. */
interface RawTask {
  index: number;
  id: string;
  settings: TaskSettings;
}

function readTasks(input: TasksInput, issues: Issue[]): TaskDefinition[] {
  const { source, settings, loaded } = input;
  const items = settings.tasks ?? [];
  if (items.length === 0) {
    issues.push(issueAt(source, ['tasks'], CODE, 'the plan has no tasks', 'List at least one under `tasks:`.'));
  }
  const max = loaded.config.maxQueueSize;
  if (items.length > max) {
    const message = `the plan has ${items.length} tasks; \`max_queue_size\` is ${max} (${queueHolder(loaded)})`;
    issues.push(issueAt(source, ['tasks'], CODE, message, 'Split the plan, or raise it in your own configuration.'));
  }
  const defaults = defaultsLevel(source, settings, issues);
  const raw = items.flatMap((_, index) => readTask(source, index, issues) ?? []);
  checkIds(source, raw, issues);
  checkDependencies(source, raw, items, issues);
  return raw.flatMap((task) => resolveWork(toResolve(input, task, defaults), issues) ?? []);
}

function queueHolder(loaded: LoadedConfig): string {
  const origin = loaded.provenance.get('execution_engine.scheduling.max_queue_size');
  return origin === undefined ? 'shipped defaults' : formatPlace(origin);
}

function defaultsLevel(
  source: Source,
  settings: PlanSettings,
  issues: Issue[],
): (Level & { type?: string | undefined }) | null {
  if (settings.defaults === undefined) return null;
  const said = checkSource(defaultsSchema, source, CODE, issues, ['defaults']);
  if (said === undefined) return null;
  const { type, ...rest } = said;
  return { title: '`defaults`', kind: 'defaults', settings: rest, trusted: false, source, path: ['defaults'], type };
}

function readTask(source: Source, index: number, issues: Issue[]): RawTask | null {
  const path = ['tasks', index];
  const settings = checkSource(taskSchema, source, CODE, issues, path);
  if (settings === undefined) return null;
  if (settings.id !== undefined) return { index, id: settings.id, settings };
  issues.push(issueAt(source, path, CODE, 'the task has no id', 'Give it `id:`.'));
  return null;
}

function toResolve(input: TasksInput, { index, id, settings }: RawTask, defaults: ReturnType<typeof defaultsLevel>) {
  const { id: _, type: ownType, depends_on, base, ...own } = settings;
  const type = ownType ?? defaults?.type ?? PLAIN_TYPE;
  const { source, loaded, adapters, machine, agent } = input;
  const path = ['tasks', index];
  const task: Level = { title: `task \`${id}\``, kind: 'task', settings: own, trusted: false, source, path };
  const levels = [task, typeLevel(loaded, type), defaults].filter((level) => level !== null);
  const dependsOn = depends_on ?? [];
  return { id, type, dependsOn, base, levels, loaded, ceiling: input.config, adapters, machine, agentOverride: agent };
}

function checkIds(source: Source, raw: readonly RawTask[], issues: Issue[]): void {
  const first = new Map<string, number>();
  for (const { id, index } of raw) {
    const earlier = first.get(id);
    if (earlier === undefined) {
      first.set(id, index);
      continue;
    }
    const at = source.locate(['tasks', earlier, 'id']);
    const where = at === null ? '' : ` in line ${at.line}`;
    const message = `there is a task \`${id}\` already${where}`;
    issues.push(issueAt(source, ['tasks', index, 'id'], CODE, message, 'Ids are unique in a plan.'));
  }
}

function checkDependencies(source: Source, raw: readonly RawTask[], items: readonly unknown[], issues: Issue[]): void {
  // A task that cannot be read is still there: that it has faults is told once, not again by its dependents.
  const known = items.map((item) => (item as { id?: unknown } | null)?.id);
  const ids = new Set(known.filter((id) => typeof id === 'string'));
  for (const { id, index, settings } of raw) {
    for (const wanted of settings.depends_on ?? []) {
      if (ids.has(wanted)) continue;
      const message = `task \`${id}\` depends on \`${wanted}\`, which is not in the plan`;
      issues.push(issueAt(source, ['tasks', index, 'depends_on'], CODE, message, didYouMean(wanted, ids)));
    }
  }
  const graph = raw.map(({ id, settings }) => ({ id, dependsOn: settings.depends_on ?? [] }));
  for (const cycle of findCycles(graph)) {
    const index = raw.find(({ id }) => id === cycle[0])!.index;
    const message = `tasks depend on each other in a cycle: ${cycle.join(' -> ')}`;
    issues.push(issueAt(source, ['tasks', index, 'depends_on'], CODE, message, 'Take one of these dependencies away.'));
  }
}
