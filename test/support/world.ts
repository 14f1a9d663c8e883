import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskDetail, TaskView } from '@drover/core';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { DROVER } from './checkout.ts';
import { HelperProcess } from './helper-process.ts';
import { describeLeaks, findLeaks, type Leak } from './leaks.ts';
import { BASE, carries, currentMark, MARK_VARIABLE } from './mark.ts';
import { isAlive, type ProcessView, processes } from './proc.ts';
import { createRepository, type Repository, type RepositoryOptions } from './repository.ts';
import { createUser, type TestUser } from './user.ts';

/** How one `drover` command ended. */
export interface CommandResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export interface WorldOptions {
  /** Run everything but the helper as an ordinary user made for this world. */
  asUser?: boolean;
  /** Without one, only `basic` can be had. Default: where the test runs as root. */
  helper?: boolean;
  /** The user's configuration file. */
  config?: unknown;
  env?: Record<string, string>;
}

export interface RunOptions {
  repository: Repository;
  flags?: string[];
  /** Directory below the repository to start from. */
  cwd?: string;
}

export interface StartOptions {
  timeoutMs?: number;
  env?: Record<string, string>;
}

/** True where the tests may make users and start a helper. */
export const isRoot = process.getuid?.() === 0;

/** Exit code of a command that finds no engine. */
const UNREACHABLE = 3;

let worlds = 0;

/**
 * A Drover of one test's own: home, state directory, helper, engine, repositories. `dispose` ends all of it and fails when
 * anything is left.
 */
export class World {
  readonly mark: string;
  readonly root: string;
  readonly home: string;
  readonly stateDir: string;
  readonly env: Record<string, string>;
  readonly helper: HelperProcess | undefined;
  readonly user: TestUser | undefined;
  readonly repositories: Repository[] = [];

  constructor(parts: Pick<World, 'mark' | 'root' | 'env' | 'helper' | 'user'>) {
    this.mark = parts.mark;
    this.root = parts.root;
    this.env = parts.env;
    this.helper = parts.helper;
    this.user = parts.user;
    this.home = parts.env.HOME!;
    this.stateDir = parts.env.DROVER_STATE_DIR!;
  }

  /** Makes a repository owned by the world's user, in its home unless `at` names another place below the root. */
  async repository(options: RepositoryOptions & { at?: string } = {}): Promise<Repository> {
    const path = join(this.root, options.at ?? `home/repo${this.repositories.length || ''}`);
    const repository = await createRepository(path, this.env, options);
    this.repositories.push(repository);
    await this.giveToUser(path);
    return repository;
  }

  /** Runs `drover` to its end; never throws for an exit code. */
  async drover(cwd: string, args: string[], options: StartOptions = {}): Promise<CommandResult> {
    const { exitCode, stdout, stderr } = await this.start(cwd, args, options);
    return { exitCode: exitCode ?? -1, stdout, stderr };
  }

  /** Starts `drover` and gives its process. */
  start(cwd: string, args: string[], { timeoutMs = 300_000, env = {} }: StartOptions = {}) {
    return execa(process.execPath, [DROVER, ...args], {
      cwd,
      env: { ...this.env, ...env },
      extendEnv: false,
      stdin: 'ignore',
      reject: false,
      timeout: timeoutMs,
      ...this.#credentials(),
    });
  }

  /** Runs `drover … --json`, which must succeed, and gives what it printed. */
  async json<T>(cwd: string, args: string[]): Promise<T> {
    const result = await this.drover(cwd, args.includes('--json') ? args : [...args, '--json']);
    if (result.exitCode !== 0) throw new Error(`drover ${args.join(' ')}: exit ${result.exitCode}\n${result.stderr}`);
    return JSON.parse(result.stdout) as T;
  }

  /** Writes a plan beside the repositories. */
  writePlan(plan: unknown, name = 'plan'): string {
    const path = join(this.root, 'plans', `${name}.yaml`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof plan === 'string' ? plan : stringify(plan));
    return path;
  }

  /** `drover run` of a plan, to its end. */
  async run(plan: unknown, { repository, flags = [], cwd = '.' }: RunOptions): Promise<CommandResult> {
    return this.drover(join(repository.path, cwd), ['run', this.writePlan(plan), ...flags]);
  }

  /** All tasks of this world's engine by `plan/task`, ended ones too; none where no engine answers at the moment. */
  async tasks(): Promise<Map<string, TaskView>> {
    const listed = await this.drover(this.home, ['ls', '--all', '--json']);
    if (listed.exitCode === UNREACHABLE) return new Map();
    if (listed.exitCode !== 0) throw new Error(`drover ls: exit ${listed.exitCode}\n${listed.stderr}`);
    const { tasks } = JSON.parse(listed.stdout) as { tasks: TaskView[] };
    return new Map(tasks.map((task) => [task.ref, task]));
  }

  task(ref: string): Promise<TaskDetail> {
    return this.json<TaskDetail>(this.home, ['status', ref]);
  }

  /** Outcome of each task of a plan by its name, as a plain object to compare; blocked tasks show their state. */
  async outcomes(plan: string): Promise<Record<string, string>> {
    const tasks = [...(await this.tasks()).values()].filter((task) => task.plan === plan);
    return Object.fromEntries(tasks.map((task) => [task.task, task.outcome ?? task.state]));
  }

  /** Waits until a task satisfies `wanted`. */
  async until(ref: string, wanted: (task: TaskView) => boolean, patienceMs = 30_000): Promise<TaskView> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const task = (await this.tasks()).get(ref);
      if (task && wanted(task)) return task;
      if (performance.now() > deadline) throw new Error(`${ref} is still ${JSON.stringify(task)}`);
      await sleep(100);
    }
  }

  /** The engine's process (not its supervisor), found by environment and command line; undefined where none runs. */
  enginePid(): number | undefined {
    const isEngine = (p: ProcessView) => p.command.startsWith(process.execPath) && p.command.includes('engine/main.js');
    return processes().find((p) => p.state !== 'Z' && carries(p.environment, this.mark) && isEngine(p))?.pid;
  }

  /** Kills the engine as the kernel would, and waits until it is gone. */
  async killEngine(): Promise<number> {
    const pid = this.enginePid();
    if (!pid) throw new Error('no engine is running');
    await killAndSee(pid);
    return pid;
  }

  /** Kills the process that starts the engine again, then the engine: nothing is left that could go on with the plan. */
  async killSupervisorAndEngine(): Promise<void> {
    const isSupervisor = (p: ProcessView) => p.command.includes('drover-keeper supervise');
    const supervisor = processes().find((p) => carries(p.environment, this.mark) && isSupervisor(p));
    if (supervisor) await killAndSee(supervisor.pid);
    await this.killEngine();
  }

  async giveToUser(path: string): Promise<void> {
    if (this.user) await execa('chown', ['-R', `${this.user.uid}:${this.user.gid}`, path]);
  }

  /** Ends everything and fails with a listing where anything is left. Every step is taken, whatever the ones before came to. */
  async dispose(): Promise<void> {
    const problems: string[] = [];
    const steps: (() => Promise<string[]> | string[])[] = [
      () => (this.enginePid() ? this.#shutDown() : []),
      async () => (await Promise.all(this.repositories.map(leftWorktrees))).flat(),
      () => this.#leftState(),
      () => this.#stopHelper(),
      () => this.#leaks(),
      () => this.#remove(),
    ];
    for (const step of steps) problems.push(...(await outcomeOf(step)));
    if (problems.length > 0) throw new Error(problems.join('\n'));
  }

  /** A helper without sandboxes ends by itself, and well. */
  async #stopHelper(): Promise<string[]> {
    if (!this.helper?.isRunning) return [];
    const code = await this.helper.stop();
    return code === 0 ? [] : [`the helper ended with ${code}:\n${this.helper.log()}`];
  }

  async #remove(): Promise<string[]> {
    rmSync(this.root, { recursive: true, force: true });
    await this.user?.remove();
    return [];
  }

  async #leaks(): Promise<string[]> {
    const own = (leak: Leak) => leak.what === this.root || leak.kind === 'user';
    const deadline = performance.now() + 3_000;
    let leaks = findLeaks(this.mark).filter((leak) => !own(leak));
    while (leaks.length > 0 && performance.now() < deadline) {
      await sleep(50);
      leaks = findLeaks(this.mark).filter((leak) => !own(leak));
    }
    endByForce(leaks);
    return leaks.length > 0 ? [describeLeaks(leaks)] : [];
  }

  async #shutDown(): Promise<string[]> {
    const open = [...(await this.tasks()).values()].filter(
      (task) => task.state === 'active' || task.state === 'queued',
    );
    const plans = [...new Set(open.map((task) => `${task.plan}/`))];
    if (plans.length > 0) {
      await this.drover(this.home, ['stop', ...plans, '--grace', '0']);
      await this.drover(this.home, ['wait', ...plans, '--timeout', '30s']);
    }
    const down = await this.drover(this.home, ['down']);
    return down.exitCode === 0 ? [] : [`drover down: exit ${down.exitCode}\n${down.stderr}`];
  }

  /** Per-attempt directories that must be gone when their attempts have ended. */
  #leftState(): string[] {
    return ['homes', 'shadows', 'worktrees'].flatMap((name) => {
      const left = filesBelow(join(this.stateDir, name));
      return left.length > 0 ? [`left in the state directory: ${name}: ${left.slice(0, 5).join(', ')}`] : [];
    });
  }

  #credentials(): { uid?: number; gid?: number } {
    return this.user ? { uid: this.user.uid, gid: this.user.gid } : {};
  }
}

/** Makes a world, with its helper running where it has one. Leaves nothing when it cannot. */
export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const mark = `${currentMark()}-${++worlds}`;
  const root = join(BASE, mark);
  const home = join(root, 'home');
  mkdirSync(root, { mode: 0o755 });
  let user: TestUser | undefined;
  try {
    user = options.asUser ? await createUser(mark, home) : undefined;
    const helper = (options.helper ?? isRoot) ? await startHelper(root, mark, user) : undefined;
    const env = environment(root, home, mark, helper, options);
    makeHome(home, env, options, user);
    return new World({ mark, root, env, helper, user });
  } catch (error) {
    rmSync(root, { recursive: true });
    await user?.remove();
    throw error;
  }
}

async function startHelper(root: string, mark: string, user: TestUser | undefined): Promise<HelperProcess> {
  const directory = join(root, 'run');
  mkdirSync(directory, { mode: 0o755 });
  const helper = new HelperProcess({ directory, cgroup: mark, allowUids: user ? [user.uid] : [] });
  await helper.start();
  return helper;
}

/** Nothing of the tester's own: a test must not depend on who runs it. */
function environment(
  root: string,
  home: string,
  mark: string,
  helper: HelperProcess | undefined,
  options: WorldOptions,
): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    DROVER_STATE_DIR: join(root, 's'),
    DROVER_HELPER_SOCKET: helper?.socket ?? join(root, 'no-helper.sock'),
    [MARK_VARIABLE]: mark,
    ...options.env,
  };
}

function makeHome(home: string, env: Record<string, string>, options: WorldOptions, user: TestUser | undefined): void {
  const config = join(home, '.config', 'drover');
  mkdirSync(config, { recursive: true });
  mkdirSync(env.DROVER_STATE_DIR!, { mode: 0o700 });
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Sam Sample\n\temail = sam@example.invalid\n');
  if (options.config !== undefined) writeFileSync(join(config, 'config.yaml'), stringify(options.config));
  chmodSync(home, 0o755);
  if (!user) return;
  for (const path of [env.DROVER_STATE_DIR!, home, join(home, '.gitconfig'), join(home, '.config'), config]) {
    chownSync(path, user.uid, user.gid);
  }
  if (existsSync(join(config, 'config.yaml'))) chownSync(join(config, 'config.yaml'), user.uid, user.gid);
}

/** What a step found, or why it failed. */
async function outcomeOf(step: () => Promise<string[]> | string[]): Promise<string[]> {
  try {
    return await step();
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}

async function leftWorktrees(repository: Repository): Promise<string[]> {
  const [, ...others] = await repository.worktrees();
  return others.map((path) => `left: worktree ${path} of ${repository.path}`);
}

function filesBelow(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** So that one failed test does not disturb the next: what it left is ended by pid, each one seen to carry its mark. */
function endByForce(leaks: readonly Leak[]): void {
  for (const leak of leaks) {
    const pid = leak.kind === 'process' ? Number.parseInt(leak.what, 10) : 0;
    if (pid > 1) tryKill(pid);
  }
}

async function killAndSee(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  while (isAlive(pid)) await sleep(5);
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself in the meantime.
  }
}

/** A directory below the system's /tmp that carries the mark. */
export function temporaryDirectory(): string {
  return mkdtempSync(`/tmp/${currentMark()}-`);
}
