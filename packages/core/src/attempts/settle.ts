import { join } from 'node:path';
import type { ExecSpec, Sandbox, SandboxProcess, SandboxRole } from '../sandbox/types.ts';
import { DroverError } from '../shared/errors.ts';
import type { Attempt } from '../store/index.ts';
import {
  attemptRef,
  commitLeftovers,
  git,
  gitIdentity,
  type Inside,
  type RepairPlace,
  type Repository,
  readRef,
  repositoryPlace,
  type TakeOver,
  takeOver,
} from '../worktrees/index.ts';
import { type AttemptIdentity, type AttemptServices, type SavedSpec, taskName } from './context.ts';
import { holder, timeout } from './prepare.ts';
import { type CommandOutcome, runCommand } from './run-command.ts';

/** The pack of one attempt's commits may have at most so many bytes. */
const PACK_MAX_BYTES = 4 * 1024 ** 3;

export interface Settled {
  /** The last commit that was taken over; the base where there is none; null where taking over failed. */
  head: string | null;
  commits: number;
  takeOverError: string | null;
  verify: CommandOutcome | null;
}

/**
 * After the agent: leftovers are committed, `verify` runs, commits are taken over; all in the attempt's sandbox, in a new
 * one over the same mounts where its init is gone. Each step can be repeated.
 */
export async function settleAttempt(
  services: AttemptServices,
  attempt: AttemptIdentity,
  sandbox: Sandbox,
  spec: SavedSpec,
  options: { verify: boolean },
): Promise<Settled> {
  const repository = await services.repositoryOf(attempt.plan.repository);
  const role = await enterSandbox(sandbox, spec);
  const inside: Inside = {
    cwd: spec.cwd,
    env: spec.env,
    exec: (argv, { env, cwd, timeoutMs }) => sandbox.exec(role, { argv, env, cwd, timeoutMs, group: 'side' }),
  };
  const settled: Settled = { head: null, commits: 0, takeOverError: null, verify: null };
  try {
    await collect(attempt, repository, inside, services, settled);
    if (options.verify && attempt.definition.verify && settled.head !== null) {
      settled.verify = await verify(attempt, (command) => sandbox.exec(role, command), spec);
    }
  } finally {
    await sandbox.end(role);
  }
  return settled;
}

/** The agent's own sandbox while its keeper answers, else a new one. */
async function enterSandbox(sandbox: Sandbox, spec: SavedSpec): Promise<SandboxRole> {
  if (await sandbox.alive('agent')) return 'agent';
  await sandbox.end('agent');
  if (!(await sandbox.alive('settle'))) await sandbox.start('settle', holder(spec));
  return 'settle';
}

async function collect(
  attempt: AttemptIdentity,
  repository: Repository,
  inside: Inside,
  services: AttemptServices,
  settled: Settled,
): Promise<void> {
  const row = services.store.attempt(attempt.id)!;
  if (row.head !== null) {
    // An earlier engine had taken over; what is in the worktree since then is verify's doing, not the agent's.
    settled.head = row.head;
    settled.commits = row.commits ?? 0;
    return;
  }
  try {
    const taken = await takeWork(attempt, repository, inside, row);
    services.store.updateAttempt(attempt.id, { head: taken.head, commits: taken.commits });
    settled.head = taken.head;
    settled.commits = taken.commits;
    for (const note of notesOn(taken)) services.emit('warning', attempt, note);
  } catch (error) {
    if (!(error instanceof DroverError)) throw error;
    settled.takeOverError = error.message;
    services.log('warn', 'commits could not be taken over', {
      attempt: attempt.id,
      code: error.code,
      message: error.message,
    });
  }
}

async function takeWork(
  attempt: AttemptIdentity,
  repository: Repository,
  inside: Inside,
  row: Attempt,
): Promise<TakeOver> {
  const base = row.base!;
  const place: RepairPlace = {
    commonDir: row.level === 'basic' ? attempt.paths.shadow : repository.commonDir,
    shadow: true,
    id: row.worktree_id!,
    worktree: row.worktree!,
    base,
  };
  await commitLeftovers(inside, place, {
    message: `${attempt.ref}: work that was not committed`,
    identity: await gitIdentity(repository),
  });
  const ref = attemptRef(taskName(attempt), attempt.number);
  const old = await readRef(repository, ref);
  const taken = await takeOver(repository, inside, { base, ref, oldOid: old, maxBytes: PACK_MAX_BYTES });
  // An attempt of the same name in an earlier life of the state directory: what it did stays reachable.
  if (old !== null && old !== taken.head) {
    await git(repositoryPlace(repository), ['update-ref', `refs/drover/snapshots/replaced/${old}`, old]);
  }
  return taken;
}

/** What a user should know of before he goes into a result. */
function* notesOn({ gitlinks, escapingLinks }: TakeOver): Generator<string> {
  if (gitlinks.length > 0) yield `new submodule links: ${gitlinks.slice(0, 5).join(', ')}`;
  if (escapingLinks.length > 0) yield `links that lead out of the tree: ${escapingLinks.slice(0, 5).join(', ')}`;
}

async function verify(
  attempt: AttemptIdentity,
  exec: (spec: ExecSpec) => Promise<SandboxProcess>,
  spec: SavedSpec,
): Promise<CommandOutcome> {
  return runCommand(
    exec,
    {
      argv: attempt.definition.verify!,
      env: spec.env,
      cwd: spec.cwd,
      group: 'agent',
      ...timeout(attempt.definition.timeoutVerifyMs),
    },
    join(attempt.paths.exec, 'verify.log'),
  );
}
