import { join } from 'node:path';
import type { ExecSpec, Sandbox, SandboxProcess, SandboxRole } from '../sandbox/types.ts';
import { DroverError } from '../shared/errors.ts';
import { commitLeftovers, countCommits, type Repository, takeOver } from '../worktrees/index.ts';
import { type AttemptIdentity, type AttemptServices, attemptRef, type SavedSpec } from './context.ts';
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
  const run =
    (group: ExecSpec['group']) =>
    (argv: string[], env: Record<string, string> = {}) =>
      sandbox.exec(role, { argv, env: { ...spec.env, ...env }, cwd: spec.cwd, group });
  const settled: Settled = { head: null, commits: 0, takeOverError: null, verify: null };
  try {
    await collect(attempt, repository, run('side'), services, settled);
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
  exec: (argv: string[], env?: Record<string, string>) => Promise<SandboxProcess>,
  services: AttemptServices,
  settled: Settled,
): Promise<void> {
  const row = services.store.attempt(attempt.id)!;
  const base = row.base!;
  if (row.head !== null) {
    // An earlier engine had taken over; what is in the worktree since then is verify's doing, not the agent's.
    settled.head = row.head;
    settled.commits = await countCommits(repository, base, row.head);
    return;
  }
  try {
    await commitLeftovers(exec, { message: `${attempt.ref}: work that was not committed` });
    const taken = await takeOver(repository, exec, {
      base,
      ref: attemptRef(attempt.plan.name, attempt.definition.id, attempt.number),
      maxBytes: PACK_MAX_BYTES,
    });
    services.store.updateAttempt(attempt.id, { head: taken.head });
    settled.head = taken.head;
    settled.commits = taken.commits;
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
