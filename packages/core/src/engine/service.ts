import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type * as z from 'zod';
import { findAgent } from '../agents/index.ts';
import type * as c from '../api/contract.ts';
import { API_VERSION } from '../api/contract.ts';
import { attemptPaths } from '../attempts/paths.ts';
import type { Sampler } from '../sandbox/sampler.ts';
import type { Clock } from '../shared/clock.ts';
import { DroverError } from '../shared/errors.ts';
import type { Attempt, Store, TaskWithPlan } from '../store/index.ts';
import type { TaskDefinition } from '../tasks/definition.ts';
import { outcomeRule } from '../tasks/outcomes.ts';
import { deleteTaskRefs, diff, isMerged, type Repository } from '../worktrees/index.ts';
import type { EventLog } from './events.ts';
import { listExecLogs } from './exec-logs.ts';
import type { Fleet } from './fleet.ts';
import { readMachine } from './machine.ts';
import type { Providers } from './providers.ts';
import { findTask, findTasks, refOf } from './refs.ts';
import type { Submissions } from './submit.ts';
import { type Live, taskDetail, taskView } from './views.ts';

export interface ServiceParts {
  version: string;
  stateDir: string;
  startedMs: number;
  clock: Clock;
  store: Store;
  fleet: Fleet;
  events: EventLog;
  sampler: Sampler;
  providers: Providers;
  submissions: Submissions;
  repositoryOf(key: string): Promise<Repository>;
  /** Ends this process soon after the answer has left. */
  exitSoon(): void;
}

/** The engine's API, served by the router: reading of records, and wishes handed to the parts that fulfil them. */
export class EngineService {
  readonly #parts: ServiceParts;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
  }

  async info(): Promise<c.EngineInfo> {
    const { version, stateDir, startedMs, providers, store } = this.#parts;
    return {
      version,
      apiVersion: API_VERSION,
      pid: process.pid,
      startedMs,
      stateDir,
      levels: await providers.states(),
      openTasks: store.openTaskCount(),
    };
  }

  async shutdown(input: { force: boolean }): Promise<void> {
    const open = this.#parts.store.openTaskCount();
    if (open > 0 && !input.force) {
      throw new DroverError(
        'tasks_open',
        `${open} tasks are not finished`,
        'Wait for them (`drover wait`), stop them (`drover stop PLAN/`), or use --force: agents then go on and the next engine takes them up.',
      );
    }
    this.#parts.exitSoon();
  }

  submitPlan(input: c.PlanSubmit): Promise<c.Submitted> {
    return this.#parts.submissions.plan(input);
  }

  spawnTask(input: c.TaskSpawn): Promise<c.Submitted> {
    return this.#parts.submissions.task(input);
  }

  async status(input: z.infer<typeof c.fleetQuery>): Promise<c.FleetStatus> {
    const { store, fleet } = this.#parts;
    const tasks = store.tasks(input);
    const plans = new Map(store.plans().map((plan) => [plan.id, plan]));
    const shown = new Set(tasks.map((task) => task.plan_id));
    return {
      engine: await this.info(),
      plans: [...plans.values()]
        .filter((plan) => shown.has(plan.id))
        .map((plan) => ({
          name: plan.name,
          repository: plan.repository,
          level: plan.level,
          counts: countStates(tasks.filter((task) => task.plan_id === plan.id)),
        })),
      tasks: tasks.map((task) => this.#view(task)),
      lastEvent: store.lastEventSeq(),
      slots: { used: fleet.activeCount, max: fleet.maxParallel },
      machine: await readMachine(),
    };
  }

  async task(input: { ref: string }): Promise<c.TaskDetail> {
    const { store, stateDir } = this.#parts;
    const task = findTask(store, input.ref);
    return taskDetail(this.#view(task), task, store.attemptsOf(task.id), stateDir);
  }

  async stop(input: z.infer<typeof c.stopInput>): Promise<{ stopped: string[] }> {
    const { store, fleet } = this.#parts;
    const tasks = findTasks(store, input.refs);
    const graceMs = (task: TaskWithPlan) => (JSON.parse(task.definition_json) as TaskDefinition).graceMs;
    const stopped: string[] = [];
    for (const task of tasks) stopped.push(...(await fleet.cancel([task], input.graceMs ?? graceMs(task))));
    return { stopped };
  }

  async remove(input: z.infer<typeof c.removeInput>): Promise<{ removed: string[] }> {
    const tasks = findTasks(this.#parts.store, input.refs);
    for (const task of tasks) await this.#checkRemovable(task, input.unmerged ?? false);
    for (const task of tasks) await this.#removeTask(task);
    return { removed: tasks.map(refOf) };
  }

  async diff(input: z.infer<typeof c.diffInput>): Promise<c.DiffResult> {
    const { store, repositoryOf } = this.#parts;
    const task = findTask(store, input.ref);
    const attempt = pickAttempt(store, task, input.attempt);
    if (!attempt.base || !attempt.head) {
      throw new DroverError(
        'no_commits_yet',
        `${refOf(task)} has no commits that were taken over`,
        'They are taken over when its agent has ended: `drover wait`.',
      );
    }
    const repository = await repositoryOf(task.repository);
    const shown = await diff(repository, attempt.base, attempt.head, { stat: input.stat ?? false });
    return { base: attempt.base, head: attempt.head, ...shown };
  }

  async logs(input: { ref: string; attempt?: number | undefined }): Promise<c.LogPlace> {
    const { store, stateDir } = this.#parts;
    const task = findTask(store, input.ref);
    const attempt = pickAttempt(store, task, input.attempt);
    const { dir, exec } = attemptPaths(stateDir, attempt.id);
    const agent = (JSON.parse(task.definition_json) as TaskDefinition).agent;
    return {
      attempt: attempt.id,
      directory: dir,
      stdout: join(dir, 'stdout.log'),
      stderr: existsSync(join(dir, 'stderr.log')) ? join(dir, 'stderr.log') : null,
      exec: await listExecLogs(exec),
      live: attempt.state === 'running',
      tty: false,
      format: findAgent(agent).logFormat,
    };
  }

  events(input: { sinceSeq: number; plan?: string | undefined }, signal: AbortSignal): AsyncIterable<c.FleetEvent> {
    return this.#parts.events.follow(input.sinceSeq, input.plan, signal);
  }

  async close(): Promise<void> {}

  #view(task: TaskWithPlan): c.TaskView {
    const { store, fleet, sampler, clock } = this.#parts;
    const driver = fleet.driverOf(task.id);
    const live: Live | undefined = driver && {
      report: driver.report,
      stats: driver.sandboxRef === undefined ? undefined : sampler.latest(driver.sandboxRef),
    };
    const level = store.plan(task.plan_id)!.level;
    return taskView(task, store.attemptsOf(task.id), level, live, clock.now());
  }

  async #checkRemovable(task: TaskWithPlan, unmerged: boolean): Promise<void> {
    if (task.state === 'queued' || task.state === 'active') {
      throw new DroverError(
        'task_open',
        `${refOf(task)} is ${task.state}`,
        `Stop it first: \`drover stop ${refOf(task)}\`.`,
      );
    }
    if (task.result === null || unmerged) return;
    const repository = await this.#parts.repositoryOf(task.repository);
    if (!(await isMerged(repository, task.result))) {
      throw new DroverError(
        'unmerged',
        `the result of ${refOf(task)} is not merged into any branch of yours`,
        `Merge ${task.branch}, or give --unmerged: its commits then stay under refs/drover/snapshots/.`,
      );
    }
  }

  async #removeTask(task: TaskWithPlan): Promise<void> {
    const { store, stateDir, repositoryOf } = this.#parts;
    const repository = await repositoryOf(task.repository);
    const attempts = store.attemptsOf(task.id);
    await deleteTaskRefs(repository, { plan: task.plan_name, task: task.name }, { expected: task.result });
    for (const attempt of attempts) {
      await rm(attemptPaths(stateDir, attempt.id).dir, { recursive: true, force: true });
    }
    store.transaction(() => {
      store.deleteTask(task.id);
      if (store.tasksOfPlan(task.plan_id).length === 0) store.deletePlan(task.plan_id);
    });
  }
}

function pickAttempt(store: Store, task: TaskWithPlan, number: number | undefined): Attempt {
  const attempts = store.attemptsOf(task.id);
  const found = number === undefined ? attempts.at(-1) : attempts.find((attempt) => attempt.number === number);
  if (found) return found;
  throw new DroverError(
    'no_such_attempt',
    number === undefined
      ? `${refOf(task)} was not started yet: ${task.reason}`
      : `${refOf(task)} has no attempt ${number}`,
    `See \`drover status ${refOf(task)}\`.`,
  );
}

function countStates(tasks: readonly TaskWithPlan[]): c.FleetStatus['plans'][number]['counts'] {
  const count = (state: TaskWithPlan['state']) => tasks.filter((task) => task.state === state).length;
  return {
    queued: count('queued'),
    active: count('active'),
    blocked: count('blocked'),
    ended: count('ended'),
    ok: tasks.filter((task) => task.outcome && outcomeRule(task.outcome).success).length,
  };
}
