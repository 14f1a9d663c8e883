import type { AttemptIdentity, AttemptServices } from '../attempts/context.ts';
import { AttemptDriver } from '../attempts/driver.ts';
import { attemptPaths } from '../attempts/paths.ts';
import { type DependencyState, decide, type QueuedTask, type SchedulerState } from '../scheduler/index.ts';
import { newAttemptId } from '../shared/ids.ts';
import type { Attempt, Plan, TaskWithPlan } from '../store/index.ts';
import type { TaskDefinition } from '../tasks/definition.ts';
import { type OutcomeRule, outcomeRule } from '../tasks/outcomes.ts';
import type { AccountUse } from './accounts.ts';
import type { EventLog } from './events.ts';
import { readMachine } from './machine.ts';
import { refOf } from './refs.ts';
import type { EngineSettings } from './settings.ts';

/** Wait before a free retry whose reset time is not known, and before one that costs an attempt. */
const RETRY_FREE_MS = 60_000;
const RETRY_MS = 2_000;
const MORE_MEMORY = 1.5;
/** While tasks wait for memory, which has no event of its own that says enough. */
const LOOK_AGAIN_MS = 3_000;

export interface FleetOptions {
  services: AttemptServices;
  events: EventLog;
  settings: EngineSettings;
}

/**
 * The running part of the engine: asks `decide` whenever something changed, starts what it says, and turns the end of
 * each attempt into the next state of its task.
 */
export class Fleet {
  readonly #services: AttemptServices;
  readonly #events: EventLog;
  readonly #drivers = new Map<string, AttemptDriver>();
  readonly #running = new Set<Promise<void>>();
  readonly #settings: EngineSettings;
  #maxParallel: number;
  #tickWanted = false;
  #ticking: Promise<void> = Promise.resolve();
  #wake: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: FleetOptions) {
    this.#services = options.services;
    this.#events = options.events;
    this.#settings = options.settings;
    this.#maxParallel = options.settings.maxParallel;
  }

  get maxParallel(): number {
    return this.#maxParallel;
  }

  set maxParallel(value: number) {
    this.#maxParallel = value;
    this.poke();
  }

  get activeCount(): number {
    return this.#drivers.size;
  }

  driverOf(taskId: number): AttemptDriver | undefined {
    for (const driver of this.#drivers.values()) if (driver.attempt.task.id === taskId) return driver;
    return undefined;
  }

  /** Which accounts are in use, for refreshing them. */
  accountUses(): AccountUse[] {
    return [...this.#drivers.values()].map(({ attempt }) => ({
      adapter: this.#services.adapterOf(attempt.definition.agent),
      env: JSON.parse(attempt.plan.env_json) as Record<string, string>,
    }));
  }

  /** Takes up what an earlier engine left: open attempts go on, and records that were half written are completed. */
  adopt(): void {
    const { store } = this.#services;
    for (const attempt of store.openAttempts()) this.#drive(attempt);
    for (const task of store.tasks({ all: true })) {
      if (task.state !== 'active' || this.driverOf(task.id)) continue;
      const last = store.attemptsOf(task.id).at(-1);
      if (last?.outcome) this.#concluded(last);
      else store.updateTask(task.id, { state: 'queued', reason: 'was about to start when the engine ended' });
    }
    this.poke();
  }

  /** Asks for a decision soon. Any number of calls before it is one decision. */
  poke(): void {
    if (this.#tickWanted || this.#closed) return;
    this.#tickWanted = true;
    this.#ticking = this.#ticking
      .then(async () => {
        this.#tickWanted = false;
        if (!this.#closed) await this.#tick();
      })
      .catch((error) => this.#services.log('error', 'the scheduler failed', { error: String(error) }));
  }

  /** Stops tasks: queued ones end at once, active ones when their agents have. Answers which were open. */
  async cancel(tasks: readonly TaskWithPlan[], graceMs: number): Promise<string[]> {
    const stopped: string[] = [];
    const waits: Promise<void>[] = [];
    for (const task of tasks) {
      if (task.state === 'queued') this.#end(task, 'cancelled', 'stopped before it started');
      else if (task.state === 'active') waits.push(this.driverOf(task.id)?.cancel(graceMs) ?? Promise.resolve());
      else continue;
      stopped.push(refOf(task));
    }
    await Promise.all(waits);
    this.poke();
    return stopped;
  }

  /** Lets go of everything without touching an agent. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#wake);
    for (const driver of this.#drivers.values()) driver.detach();
    await this.#ticking;
    await Promise.allSettled(this.#running);
  }

  async #tick(): Promise<void> {
    const { store, clock } = this.#services;
    const tasks = store.tasks();
    const names = uniqueNames(tasks);
    const byName = new Map(tasks.map((task) => [names.get(task.id)!, task]));
    const { memoryAvailableBytes } = await readMachine();
    const resources = { memoryAvailableBytes, memoryHeadroomBytes: this.#settings.memoryHeadroomBytes };
    const decision = decide(this.#state(tasks, names), clock.now(), resources);
    for (const action of decision.actions) {
      // A stop may have come while the machine was looked at.
      const task = store.task(byName.get(action.ref)!.id);
      if (task?.state !== 'queued') continue;
      if (action.kind === 'start') this.#start(task);
      else this.#block(task, action.reason);
    }
    for (const [name, reason] of decision.reasons) {
      const task = byName.get(name)!;
      if (task.reason !== reason && store.task(task.id)?.state === 'queued') store.updateTask(task.id, { reason });
    }
    this.#endPlans(tasks);
    this.#sleep(tasks, decision.reasons.size > 0);
  }

  #state(tasks: readonly TaskWithPlan[], names: ReadonlyMap<number, string>): SchedulerState {
    const { store, sampler } = this.#services;
    const plans = new Map(store.plans().map((plan) => [plan.id, plan]));
    const siblings = new Map(tasks.map((task) => [`${task.plan_id}/${task.name}`, task]));
    const dependency = (task: TaskWithPlan, name: string): DependencyState => {
      const found = siblings.get(`${task.plan_id}/${name}`);
      if (!found) return { ref: `${task.plan_name}/${name}`, state: 'missing' };
      return { ref: names.get(found.id)!, state: found.state, outcome: found.outcome, reason: found.reason };
    };
    return {
      maxParallelAgents: this.#maxParallel,
      planMax: new Map([...plans.values()].map((plan) => [String(plan.id), plan.max_parallel])),
      active: tasks
        .filter((task) => task.state === 'active')
        .map((task) => {
          const ref = this.driverOf(task.id)?.sandboxRef;
          const memoryBytes = ref === undefined ? undefined : sampler.latest(ref)?.memoryBytes;
          return {
            ref: names.get(task.id)!,
            plan: String(task.plan_id),
            memoryEstimateBytes: task.memory_estimate,
            ...(memoryBytes === undefined ? {} : { memoryBytes }),
          };
        }),
      queued: tasks
        .filter((task) => task.state === 'queued')
        .map((task) =>
          queuedTask(task, names.get(task.id)!, plans.get(task.plan_id)!, (name) => dependency(task, name)),
        ),
    };
  }

  #start(task: TaskWithPlan): void {
    const { store, clock } = this.#services;
    const attempts = store.attemptsOf(task.id);
    const last = attempts.at(-1);
    const fresh = last?.outcome ? outcomeRule(last.outcome).worktree === 'fresh' : true;
    const plan = store.plan(task.plan_id)!;
    const definition = JSON.parse(task.definition_json) as TaskDefinition;
    const row: Attempt = {
      id: newAttemptId(clock.now()),
      task_id: task.id,
      number: (last?.number ?? 0) + 1,
      slot: last ? last.slot + (fresh ? 1 : 0) : 1,
      state: 'preparing',
      outcome: null,
      reason: '',
      level: plan.level,
      sandbox_ref: null,
      enforced_json: '[]',
      limits_json: JSON.stringify(definition.limits),
      base: null,
      head: null,
      commits: null,
      worktree: null,
      worktree_id: null,
      stop_cause: null,
      session_id: null,
      agent_version: null,
      started_ms: null,
      ended_ms: null,
      cpu_us: null,
      memory_peak: null,
      oom_kills: null,
      pids_max_hits: null,
      duration_ms: null,
      usage_json: '{}',
      summary: null,
    };
    store.transaction(() => {
      store.insertAttempt(row);
      store.updateTask(task.id, {
        state: 'active',
        reason: 'running',
        started_ms: task.started_ms ?? clock.now(),
        not_before_ms: null,
      });
    });
    this.#drive(row);
  }

  #drive(attempt: Attempt): void {
    const driver = new AttemptDriver(this.#services, this.#identity(attempt));
    this.#drivers.set(attempt.id, driver);
    const run = driver
      .run()
      .catch((error) =>
        this.#services.log('error', 'an attempt driver failed', { attempt: attempt.id, error: stack(error) }),
      )
      .then(() => {
        this.#drivers.delete(attempt.id);
        this.#running.delete(run);
        if (this.#closed) return;
        const row = this.#services.store.attempt(attempt.id)!;
        if (row.state !== 'ended') this.#giveUp(row);
        this.#concluded(this.#services.store.attempt(attempt.id)!);
        this.poke();
      });
    this.#running.add(run);
  }

  /** A driver that broke off: the attempt ends as `sandbox_failed`, so that no task waits for ever. */
  #giveUp(row: Attempt): void {
    const { store, clock } = this.#services;
    store.updateAttempt(row.id, {
      state: 'ended',
      outcome: row.outcome ?? 'sandbox_failed',
      reason: row.reason || 'the engine failed on it; see engine.log',
      ended_ms: clock.now(),
    });
  }

  #identity(attempt: Attempt): AttemptIdentity {
    const { store, stateDir } = this.#services;
    const task = store.task(attempt.task_id)!;
    return {
      id: attempt.id,
      ref: refOf(task),
      number: attempt.number,
      slot: attempt.slot,
      task,
      plan: store.plan(task.plan_id)!,
      definition: JSON.parse(task.definition_json) as TaskDefinition,
      paths: attemptPaths(stateDir, attempt.id),
    };
  }

  /** The end of an attempt becomes the next state of its task: ended, or queued again. */
  #concluded(attempt: Attempt): void {
    const { store, clock } = this.#services;
    const task = store.task(attempt.task_id);
    if (task?.state !== 'active' || !attempt.outcome) return;
    const definition = JSON.parse(task.definition_json) as TaskDefinition;
    const rule = outcomeRule(attempt.outcome);
    const spent = task.spent + (rule.costs ? 1 : 0);
    const mayRetry = rule.retry && spent < definition.maxAttempts && attempt.stop_cause !== 'cancelled';
    this.#events.emit(
      'attempt_ended',
      names(task),
      `attempt ${attempt.number} ended as ${attempt.outcome}: ${attempt.reason}`,
      {
        outcome: attempt.outcome,
        attempt: attempt.number,
        again: mayRetry,
      },
    );
    store.updateTask(task.id, { spent });
    if (!mayRetry) {
      this.#end({ ...task, spent }, attempt.outcome, attempt.reason);
      return;
    }
    store.updateTask(task.id, {
      state: 'queued',
      reason: `runs again: attempt ${attempt.number} ended as ${attempt.outcome}`,
      not_before_ms: clock.now() + retryDelay(rule),
      memory_estimate: Math.round(task.memory_estimate * (rule.change === 'more_memory' ? MORE_MEMORY : 1)),
      memory_factor: task.memory_factor * (rule.change === 'more_memory' ? MORE_MEMORY : 1),
    });
    this.#events.emit('task_queued', names(task), `queued again after ${attempt.outcome}`);
  }

  #end(task: TaskWithPlan, outcome: NonNullable<Attempt['outcome']>, reason: string): void {
    const { store, clock } = this.#services;
    store.updateTask(task.id, { state: 'ended', outcome, reason, ended_ms: clock.now() });
    this.#events.emit('task_ended', names(task), `${outcome}: ${reason}`, { outcome });
  }

  #block(task: TaskWithPlan, reason: string): void {
    const { store, clock } = this.#services;
    store.updateTask(task.id, { state: 'blocked', reason, ended_ms: clock.now() });
    this.#events.emit('task_blocked', names(task), reason);
  }

  #endPlans(tasks: readonly TaskWithPlan[]): void {
    const { store, clock } = this.#services;
    for (const id of new Set(tasks.map((task) => task.plan_id))) {
      const now = store.tasksOfPlan(id);
      if (now.some((task) => task.state === 'queued' || task.state === 'active')) continue;
      const plan = store.plan(id);
      if (!plan || plan.ended_ms !== null) continue;
      store.updatePlan(id, { ended_ms: clock.now() });
      const ok = now.filter((task) => task.outcome && outcomeRule(task.outcome).success).length;
      this.#events.emit('plan_ended', { plan: plan.name }, `${ok} of ${now.length} tasks succeeded`, {
        ok,
        tasks: now.length,
      });
    }
  }

  /** Somebody waits for a time, or for memory that no event tells of: looks again then. */
  #sleep(tasks: readonly TaskWithPlan[], somebodyWaits: boolean): void {
    clearTimeout(this.#wake);
    if (!somebodyWaits) return;
    const now = this.#services.clock.now();
    const times = tasks.flatMap((task) =>
      task.state === 'queued' && task.not_before_ms !== null ? [task.not_before_ms - now] : [],
    );
    const wait = Math.min(LOOK_AGAIN_MS, ...times.filter((ms) => ms > 0));
    this.#wake = setTimeout(() => this.poke(), Math.max(wait, 20));
  }
}

function queuedTask(
  task: TaskWithPlan,
  ref: string,
  plan: Plan,
  dependency: (name: string) => DependencyState,
): QueuedTask {
  const definition = JSON.parse(task.definition_json) as TaskDefinition;
  return {
    ref,
    plan: String(plan.id),
    strategy: plan.strategy,
    class: task.class,
    priority: definition.priority,
    submittedMs: task.submitted_ms,
    sequence: task.plan_id * 100_000 + task.position,
    dependencies: definition.dependsOn.map(dependency),
    memoryEstimateBytes: task.memory_estimate,
    ...(task.not_before_ms === null ? {} : { notBefore: { atMs: task.not_before_ms, why: task.reason } }),
  };
}

/** `plan/task` of each; where two repositories have the same, the repository comes first. */
function uniqueNames(tasks: readonly TaskWithPlan[]): Map<number, string> {
  const counts = new Map<string, number>();
  for (const task of tasks) counts.set(refOf(task), (counts.get(refOf(task)) ?? 0) + 1);
  return new Map(
    tasks.map((task) => [task.id, counts.get(refOf(task)) === 1 ? refOf(task) : `${task.repository}:${refOf(task)}`]),
  );
}

function names(task: TaskWithPlan): { ref: string; plan: string } {
  return { ref: refOf(task), plan: task.plan_name };
}

function retryDelay(rule: OutcomeRule): number {
  return rule.change === 'after_reset' ? RETRY_FREE_MS : RETRY_MS;
}

function stack(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
