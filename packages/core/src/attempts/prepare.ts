import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Launch } from '../agents/types.ts';
import { standIns } from '../sandbox/stand-ins.ts';
import type { Mount, Sandbox, SandboxRole, StartSpec } from '../sandbox/types.ts';
import { DroverError } from '../shared/errors.ts';
import { giveTree } from '../shared/give-tree.ts';
import { mountPoints } from '../shared/mount-points.ts';
import {
  createWorktree,
  gitIdentity,
  mergeResults,
  orderMounts,
  prepareShadow,
  type Repository,
  removeShadow,
  resolveBase,
  resultBranch,
  useShadowInPlace,
} from '../worktrees/index.ts';
import { type AttemptIdentity, type AttemptServices, type SavedSpec, taskName } from './context.ts';
import { worktreePath } from './paths.ts';
import { runCommand } from './run-command.ts';

export interface Prepared {
  sandbox: Sandbox;
  start: StartSpec;
}

/**
 * Makes everything an attempt needs, in steps that are recorded before their effect and can each be repeated:
 * base, sandbox, worktree, shadow directory, home, agent's launch. Nothing of the agent runs yet.
 */
export async function prepareAttempt(services: AttemptServices, attempt: AttemptIdentity): Promise<Prepared> {
  const { store, stateDir } = services;
  const { definition, plan, paths } = attempt;
  const repository = await services.repositoryOf(plan.repository);
  await Promise.all([
    mkdir(paths.dir, { recursive: true, mode: 0o700 }),
    mkdir(paths.home, { recursive: true }),
    mkdir(dirname(paths.shadow), { recursive: true }),
  ]);

  const base = await chooseBase(services, attempt, repository);
  store.updateAttempt(attempt.id, { base });

  const path = worktreePath(stateDir, plan.repository, plan.name, definition.id, attempt.slot);
  store.updateAttempt(attempt.id, { worktree: path });
  const worktree = await createWorktree(repository, { path, base });
  store.updateAttempt(attempt.id, { worktree: worktree.path, worktree_id: worktree.id });

  const provider = services.providerOf(store.attempt(attempt.id)!.level);
  const limits = { ...definition.limits };
  if (limits.memory !== undefined) limits.memory = Math.round(limits.memory * attempt.task.memory_factor);
  const sandbox = await provider.create({ attemptId: attempt.id, limits, oom: definition.oom, ioPath: path });
  store.updateAttempt(attempt.id, {
    sandbox_ref: sandbox.ref,
    enforced_json: JSON.stringify(sandbox.enforced),
    limits_json: JSON.stringify(limits),
  });

  const contained = provider.level !== 'basic';
  const shadowMounts = await prepareShadow(repository, {
    worktree,
    shadowDir: paths.shadow,
    branch: resultBranch(taskName(attempt)),
    base,
    identity: sandbox.identity,
    hide: [stateDir],
  });
  if (!contained) await useShadowInPlace(repository, worktree, paths.shadow);
  const launch = await launchOf(services, attempt, worktree.path, sandbox);
  const home: Mount = { kind: 'rw', src: paths.home, dst: services.userHome };
  const mounts = [home, ...shadowMounts, ...launch.mounts];
  const spec: SavedSpec = {
    env: launch.env,
    cwd: worktree.path,
    hostname: attempt.id,
    mounts: contained ? orderMounts([...standIns(mounts, await mountPoints()), ...mounts]) : [],
  };
  await writeAtomically(join(paths.dir, 'spec.json'), JSON.stringify(spec));
  return { sandbox, start: await startSpec(attempt, launch, spec, sandbox) };
}

/**
 * Runs the task's setup commands in the sandbox, one after the other. Throws `setup_failed` with the first that fails, and whatever when
 * `signal` gives it up.
 */
export async function runSetup(attempt: AttemptIdentity, prepared: Prepared, signal: AbortSignal): Promise<void> {
  const commands = attempt.definition.setup;
  if (commands.length === 0) return;
  const { sandbox, start } = prepared;
  await startHolder(sandbox, 'setup', start);
  try {
    for (const [i, argv] of commands.entries()) {
      const outcome = await runCommand(
        (spec) => sandbox.exec('setup', spec),
        { argv, env: start.env, cwd: start.cwd, group: 'agent', signal, ...timeout(attempt.definition.timeoutSetupMs) },
        join(attempt.paths.exec, `setup-${i + 1}.log`),
      );
      if (!outcome.ok)
        throw new DroverError('setup_failed', outcome.detail, 'Read its output: `drover logs TASK --setup`.');
    }
  } finally {
    await sandbox.end('setup');
  }
}

/** A start whose job 0 ends at once: the sandbox then stands in `settling` and runs what it is given. */
function holder(spec: SavedSpec): StartSpec {
  return {
    ...spec,
    argv: ['/bin/true'],
    tty: false,
    stderr: 'merge',
    deadlineMs: null,
    graceMs: 0,
  };
}

/**
 * Starts a role that only stands ready. The record is waited for: a keeper kills what it finds between the end of job 0 and
 * its record, and a command that came a moment earlier with it.
 */
export async function startHolder(sandbox: Sandbox, role: SandboxRole, spec: SavedSpec): Promise<void> {
  await sandbox.start(role, holder(spec));
  await sandbox.waitExit(role);
}

/** What an earlier engine started this attempt's sandbox with; null when it had not come so far. */
export async function savedSpec(attempt: AttemptIdentity): Promise<SavedSpec | null> {
  const text = await readFile(join(attempt.paths.dir, 'spec.json'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? null : (JSON.parse(text) as SavedSpec);
}

/** A task's own base, else the merge of its dependencies' results in the order named, else the plan's base. */
async function chooseBase(
  services: AttemptServices,
  attempt: AttemptIdentity,
  repository: Repository,
): Promise<string> {
  const { definition, plan } = attempt;
  if (definition.base !== undefined) return resolveBase(repository, definition.base);
  if (definition.dependsOn.length === 0) return plan.base;
  const siblings = new Map(services.store.tasksOfPlan(plan.id).map((task) => [task.name, task]));
  const results = definition.dependsOn.map((name) => siblings.get(name)?.result ?? plan.base);
  const merged = await mergeResults(repository, results, {
    message: `Merge the results of ${definition.dependsOn.join(', ')} for ${attempt.ref}`,
    identity: await gitIdentity(repository),
  });
  if ('conflict' in merged) {
    throw new DroverError(
      'merge_conflict',
      `the results of its dependencies conflict in ${merged.conflict.paths.slice(0, 5).join(', ')}`,
      'Merge them by hand, or order the tasks one after the other.',
    );
  }
  return merged.oid;
}

async function launchOf(
  services: AttemptServices,
  attempt: AttemptIdentity,
  worktree: string,
  sandbox: Sandbox,
): Promise<Launch> {
  const adapter = services.adapterOf(attempt.definition.agent);
  const env = JSON.parse(attempt.plan.env_json) as Record<string, string>;
  const launch = await adapter.prepare({
    task: attempt.definition,
    plan: attempt.plan.name,
    attemptId: attempt.id,
    attempt: attempt.number,
    accountsDir: join(services.stateDir, 'accounts'),
    homeDir: attempt.paths.home,
    homePath: sandbox.level === 'basic' ? attempt.paths.home : services.userHome,
    worktree,
    env,
    userHome: services.userHome,
  });
  services.store.updateAttempt(attempt.id, { agent_version: launch.version ?? null });
  await giveTree(attempt.paths.home, sandbox.identity);
  return launch;
}

async function startSpec(
  attempt: AttemptIdentity,
  launch: Launch,
  spec: SavedSpec,
  sandbox: Sandbox,
): Promise<StartSpec> {
  const start: StartSpec = {
    ...spec,
    argv: launch.argv,
    tty: launch.tty,
    stderr: launch.stderr,
    deadlineMs: attempt.definition.timeoutWallMs,
    graceMs: attempt.definition.graceMs,
  };
  if (launch.stdin === undefined) return start;
  await writeFile(attempt.paths.stdin, launch.stdin, { mode: 0o600 });
  await chown(attempt.paths.stdin, process.getuid!(), sandbox.identity.gid);
  return { ...start, stdinPath: attempt.paths.stdin };
}

/** A time limit as exec takes it: absent is none. */
export function timeout(ms: number | null): { timeoutMs?: number } {
  return ms === null ? {} : { timeoutMs: ms };
}

async function writeAtomically(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** Removes what preparation left in the attempt's own directories, so that it can begin anew. */
export async function clearPreparation(attempt: AttemptIdentity): Promise<void> {
  await rm(attempt.paths.home, { recursive: true, force: true });
  await removeShadow(attempt.paths.shadow);
}
