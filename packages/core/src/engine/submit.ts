import { AGENTS, COMMON_ENVIRONMENT, findAgent, keepVariables } from '../agents/index.ts';
import type * as c from '../api/contract.ts';
import { agentSettings, type Config, type LoadedConfig, loadConfig, passEnvironment } from '../config/index.ts';
import { type MachineFacts, readPlan, resolveTask, taskFingerprint } from '../plan/index.ts';
import { estimateMemory } from '../scheduler/index.ts';
import type { Clock } from '../shared/clock.ts';
import { DroverError } from '../shared/errors.ts';
import type { Plan, Store, TaskWithPlan } from '../store/index.ts';
import type { Level, PlanDefinition, TaskDefinition } from '../tasks/definition.ts';
import { LIMIT_RULES } from '../tasks/limits.ts';
import { SOLO_PLAN } from '../tasks/names.ts';
import { outcomeRule } from '../tasks/outcomes.ts';
import { fileAt, openRepository, type Repository, resolveBase } from '../worktrees/index.ts';
import type { EventLog } from './events.ts';
import type { Fleet } from './fleet.ts';
import { readMachine } from './machine.ts';
import type { Providers } from './providers.ts';
import type { EngineSettings } from './settings.ts';

const REPOSITORY_CONFIG = '.drover/config.yaml';

export interface SubmissionParts {
  store: Store;
  clock: Clock;
  events: EventLog;
  fleet: Fleet;
  providers: Providers;
  settings: EngineSettings;
  userHome: string;
}

/** What a submission stands on: the repository, its configuration, the machine. */
interface Ground {
  repository: Repository;
  config: LoadedConfig;
  machine: MachineFacts;
}

/** Takes in plans and single tasks. Everything is checked before anything is recorded; then all of it is, in one transaction. */
export class Submissions {
  readonly #parts: SubmissionParts;

  constructor(parts: SubmissionParts) {
    this.#parts = parts;
  }

  async plan(input: c.PlanSubmit): Promise<c.Submitted> {
    const ground = await this.#ground(input);
    const { plan, config } = readPlan({
      ...ground,
      file: input.file,
      text: input.text,
      adapters: AGENTS,
      agent: input.agent,
    });
    const base = await resolveBase(ground.repository, plan.base);
    const name = input.fresh ? this.#freshName(ground.repository, plan.name) : plan.name;
    return this.#record(input, ground, { ...plan, name }, base, config.config);
  }

  async task(input: c.TaskSpawn): Promise<c.Submitted> {
    const ground = await this.#ground(input);
    const task = resolveTask({
      task: input.task,
      id: this.#freeId(ground.repository, input.task),
      config: ground.config,
      adapters: AGENTS,
      machine: ground.machine,
    });
    const { config } = ground.config;
    const plan: PlanDefinition = {
      name: SOLO_PLAN,
      tasks: [task],
      base: 'HEAD',
      ...(config.isolationLevel === undefined ? {} : { level: config.isolationLevel }),
      maxParallelAgents: config.maxParallelAgents,
      maxQueueSize: config.maxQueueSize,
      strategy: config.strategy,
      keepWorktrees: config.keepWorktrees,
      warnings: [...ground.config.warnings],
    };
    return this.#record(input, ground, plan, await resolveBase(ground.repository, 'HEAD'), config);
  }

  async #ground(input: { cwd: string; overrides: Record<string, unknown> }): Promise<Ground> {
    const repository = await openRepository(input.cwd);
    const head = await resolveBase(repository, 'HEAD');
    const text = await fileAt(repository, head, REPOSITORY_CONFIG);
    const config = loadConfig({
      user: await this.#parts.settings.userFile(),
      repository: text === null ? null : { file: REPOSITORY_CONFIG, text },
      flags: input.overrides,
      adapters: AGENTS,
    });
    await this.#parts.settings.reload();
    this.#parts.fleet.maxParallel = this.#parts.settings.maxParallel;
    const { cpus, memoryTotalBytes } = await readMachine();
    return { repository, config, machine: { cpus, memoryBytes: memoryTotalBytes } };
  }

  async #record(
    input: { env: Record<string, string> },
    ground: Ground,
    plan: PlanDefinition,
    base: string,
    config: Config,
  ): Promise<c.Submitted> {
    const { store, providers } = this.#parts;
    const chosen = await providers.choose(plan.level);
    refuseUnsupported(plan.tasks, providers.get(chosen.level).unsupported);
    await refuseMissingAgents(plan.tasks, input.env, this.#parts.userHome);
    const queue = store.openTaskCount() + plan.tasks.length;
    if (queue > plan.maxQueueSize) {
      throw new DroverError(
        'queue_full',
        `the queue would hold ${queue} tasks; max_queue_size is ${plan.maxQueueSize}`,
        'Wait for some to end, or raise `execution_engine.scheduling.max_queue_size`.',
      );
    }
    const env = keepVariables(input.env, [
      ...COMMON_ENVIRONMENT,
      ...AGENTS.flatMap((agent) => agent.environment),
      ...config.environmentPass,
      ...AGENTS.flatMap((agent) => agentSettings(config, agent).env),
    ]);
    const recorded = store.transaction(() => this.#write(ground.repository, plan, base, chosen, env, config));
    this.#parts.fleet.poke();
    return {
      plan: plan.name,
      level: chosen.level,
      levelReason: chosen.reason,
      base,
      warnings: [...plan.warnings, ...unlimited(plan.tasks, chosen.level)],
      ...recorded,
    };
  }

  #write(
    repository: Repository,
    plan: PlanDefinition,
    base: string,
    chosen: { level: Level; reason: string },
    env: Record<string, string>,
    config: Config,
  ): Pick<c.Submitted, 'tasks' | 'sinceEvent'> {
    const { store, clock, events } = this.#parts;
    const sinceEvent = store.lastEventSeq();
    store.saveRepository({
      key: repository.key,
      name: repository.name,
      common_dir: repository.commonDir,
      main_worktree: repository.mainWorktree,
    });
    const values = {
      level: chosen.level,
      level_reason: chosen.reason,
      base,
      max_parallel: plan.maxParallelAgents,
      strategy: plan.strategy,
      keep_worktrees: plan.keepWorktrees,
      env_json: JSON.stringify(env),
      submitted_ms: clock.now(),
      ended_ms: null,
    };
    const earlier = store.planNamed(repository.key, plan.name);
    if (earlier) this.#refuseRunning(earlier, plan);
    const planId = earlier?.id ?? store.insertPlan({ repository: repository.key, name: plan.name, ...values });
    if (earlier) store.updatePlan(planId, values);
    const known = new Map(store.tasksOfPlan(planId).map((task) => [task.name, task]));
    const done = new Set<string>();
    const tasks = plan.tasks.map((task, position) => {
      const fingerprint = taskFingerprint(task, base);
      const before = known.get(task.id);
      const skipped = isDone(before, fingerprint) && task.dependsOn.every((name) => done.has(name));
      if (skipped) done.add(task.id);
      else this.#queue(planId, before, task, position, fingerprint, env, config);
      const ref = `${plan.name}/${task.id}`;
      events.emit('task_queued', { ref, plan: plan.name }, skipped ? 'done already, unchanged' : 'queued', { skipped });
      return { ref, state: skipped ? ('ended' as const) : ('queued' as const), skipped };
    });
    // Tasks that the plan no longer has are not run; what they did stays on the books until `drover rm`.
    return { tasks, sinceEvent };
  }

  /** What the user's configuration lets through of his environment: for every agent, and for this one. */
  #passed(task: TaskDefinition, env: Readonly<Record<string, string>>, config: Config): Record<string, string> {
    const agent = findAgent(task.agent);
    return passEnvironment(env, [...config.environmentPass, ...agentSettings(config, agent).env]);
  }

  #queue(
    planId: number,
    before: TaskWithPlan | undefined,
    task: TaskDefinition,
    position: number,
    fingerprint: string,
    env: Readonly<Record<string, string>>,
    config: Config,
  ): void {
    const { store, clock } = this.#parts;
    const row = {
      position,
      definition_json: JSON.stringify({ ...task, env: { ...this.#passed(task, env, config), ...task.env } }),
      fingerprint,
      class: task.class,
      state: 'queued' as const,
      outcome: null,
      reason: 'queued',
      submitted_ms: clock.now(),
      started_ms: null,
      ended_ms: null,
      spent: 0,
      not_before_ms: null,
      memory_factor: 1,
      memory_estimate: estimateMemory({
        limitBytes: task.limits.memory,
        configuredBytes: config.admission.memoryEstimateBytes,
      }),
    };
    if (before) store.updateTask(before.id, row);
    else store.insertTask({ plan_id: planId, name: task.id, result: null, branch: null, commits: null, ...row });
  }

  /** The plan `solo` takes ever more tasks; any other is submitted as a whole, and not while it runs. */
  #refuseRunning(earlier: Plan, plan: PlanDefinition): void {
    const tasks = this.#parts.store.tasksOfPlan(earlier.id);
    const open = tasks.filter((task) => task.state === 'queued' || task.state === 'active');
    if (plan.name === SOLO_PLAN || open.length === 0) return;
    throw new DroverError(
      'plan_running',
      `plan ${plan.name} is running: ${open.length} tasks are not finished`,
      `Wait for it (\`drover wait\`), stop it (\`drover stop ${plan.name}/\`), or start another one with --fresh.`,
    );
  }

  #freshName(repository: Repository, name: string): string {
    for (let n = 1; ; n++) {
      const candidate = n === 1 ? name : `${name}-${n}`;
      if (!this.#parts.store.planNamed(repository.key, candidate)) return candidate;
    }
  }

  /** An id for a task that brings none: what it runs and a number. One that it brings must be free. */
  #freeId(repository: Repository, task: Record<string, unknown>): string {
    const plan = this.#parts.store.planNamed(repository.key, SOLO_PLAN);
    const names = new Set(plan ? this.#parts.store.tasksOfPlan(plan.id).map((row) => row.name) : []);
    if (typeof task.id === 'string') {
      if (names.has(task.id)) {
        throw new DroverError(
          'task_exists',
          `there is a task ${SOLO_PLAN}/${task.id} already`,
          `Take another --id, or remove it: \`drover rm ${SOLO_PLAN}/${task.id}\`.`,
        );
      }
      return task.id;
    }
    for (let n = names.size + 1; ; n++) if (!names.has(`t${n}`)) return `t${n}`;
  }
}

function isDone(task: TaskWithPlan | undefined, fingerprint: string): boolean {
  return (
    task?.state === 'ended' &&
    task.outcome !== null &&
    outcomeRule(task.outcome).success &&
    task.fingerprint === fingerprint
  );
}

/** An agent that is not installed is refused before anything starts, and not task after task. */
async function refuseMissingAgents(
  tasks: readonly TaskDefinition[],
  env: Readonly<Record<string, string>>,
  userHome: string,
): Promise<void> {
  for (const name of new Set(tasks.map((task) => task.agent))) {
    const agent = findAgent(name);
    if ((await agent.detect(env, userHome)) !== null) continue;
    const first = tasks.find((task) => task.agent === name)!;
    throw new DroverError(
      'agent_missing',
      `task ${first.id} is for ${agent.title}, which is not installed: it is neither on your PATH nor under your home`,
      'Install it, or give the task a `command:`.',
    );
  }
}

/** A limit that somebody asked for is enforced or refused; a shipped default that cannot be had here is left out. */
function refuseUnsupported(tasks: readonly TaskDefinition[], unsupported: ReadonlyMap<string, string>): void {
  for (const task of tasks) {
    for (const key of task.limitsAsked) {
      const reason = unsupported.get(key);
      if (reason !== undefined) {
        throw new DroverError(
          'limit_unsupported',
          `task ${task.id}: limit \`${LIMIT_RULES[key].key}\` cannot be enforced here: ${reason}`,
          'Leave it out, or run on a machine that can: `drover doctor`.',
        );
      }
    }
    for (const key of unsupported.keys()) delete (task.limits as Record<string, unknown>)[key];
  }
}

function unlimited(tasks: readonly TaskDefinition[], level: Level): string[] {
  const bare = tasks.filter((task) => Object.keys(task.limits).length === 0);
  if (level === 'basic') return ['limits: none (level basic has no cgroup)'];
  return bare.length === 0 ? [] : [`limits: none for ${bare.map((task) => task.id).join(', ')}`];
}
