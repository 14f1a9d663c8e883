import { rm } from 'node:fs/promises';
import type { ExitRecord } from '@drover/helper';
import type { AgentReport } from '../agents/types.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { DroverError } from '../shared/errors.ts';
import type { Attempt } from '../store/index.ts';
import { type Outcome, outcomeRule } from '../tasks/outcomes.ts';
import { gitIdentity, removeShadow, removeWorktree, setResult, snapshotRef } from '../worktrees/index.ts';
import { type AttemptIdentity, type AttemptServices, type SavedSpec, taskName } from './context.ts';
import { type Evidence, judgeAttempt, type Verdict } from './evidence.ts';
import { removeEmptyParents } from './paths.ts';
import { clearPreparation, prepareAttempt, runSetup, savedSpec } from './prepare.ts';
import { type Settled, settleAttempt } from './settle.ts';
import { type StopCause, watchAgent } from './watch.ts';

/** Failures of preparation that have an outcome of their own; any other is `sandbox_failed`. */
const OUTCOME_OF_ERROR: Readonly<Record<string, Outcome>> = {
  merge_conflict: 'merge_conflict',
  setup_failed: 'setup_failed',
  agent_missing: 'setup_failed',
  program_missing: 'setup_failed',
  agent_auth: 'auth_failed',
  agent_unsupported: 'setup_failed',
  agent_input: 'setup_failed',
};

const CANCELLED: Verdict = { outcome: 'cancelled', reason: 'stopped on request' };

/** Thrown inside a driver whose engine is going away: the attempt goes on without it. */
class Detached extends Error {}

/**
 * Takes one attempt from whatever its record says to `ended`. The record is written before each step's effect, so a new
 * engine that reads it goes on where the old one was.
 */
export class AttemptDriver {
  readonly attempt: AttemptIdentity;
  readonly #services: AttemptServices;
  readonly #abort = new AbortController();
  readonly #cancelled = new AbortController();
  #sandbox: Sandbox | undefined;
  #report: AgentReport | undefined;

  constructor(services: AttemptServices, attempt: AttemptIdentity) {
    this.#services = services;
    this.attempt = attempt;
  }

  /** What the agent said so far, for status. */
  get report(): AgentReport | undefined {
    return this.#report;
  }

  get sandboxRef(): string | undefined {
    return this.#sandbox?.ref;
  }

  /** Resolves when the attempt has ended, or, after {@link detach}, when this driver has let go of it. */
  async run(): Promise<void> {
    try {
      await this.#run();
    } catch (error) {
      if (!(error instanceof Detached)) throw error;
    }
  }

  /** Lets go: the agent works on, and a later engine adopts it. */
  detach(): void {
    this.#abort.abort();
  }

  /** Stops the agent, whatever it is doing. The attempt ends as `cancelled`. */
  async cancel(graceMs: number): Promise<void> {
    this.#services.store.updateAttempt(this.attempt.id, { stop_cause: 'cancelled' });
    // Setup and verify commands, which may take as long as an agent.
    this.#cancelled.abort();
    if (this.#row().state === 'running') await this.#sandbox?.stop('agent', graceMs);
  }

  async #run(): Promise<void> {
    // An engine that starts while the helper is away: the agent works on, and its attempt waits to be taken up.
    if (!(await this.#services.levelAvailable(this.#row().level, this.#abort.signal))) throw new Detached();
    if (this.#row().state === 'preparing') {
      const failed = await this.#prepareAndStart();
      if (failed) return this.#finish(failed, null);
    }
    const sandbox = await this.#enter();
    // A stop that found no sandbox yet, or whose engine was lost before it was told on.
    const { state, stop_cause } = this.#row();
    if (state === 'running' && stop_cause === 'cancelled') await sandbox.stop('agent', this.attempt.definition.graceMs);
    const exit = this.#row().outcome === null ? await this.#watch(sandbox) : null;
    this.#check();
    if (this.#row().outcome !== null) return this.#cleanUp();
    await this.#settle(sandbox, exit);
  }

  /** Answers the verdict when it failed, null when the agent runs. */
  async #prepareAndStart(): Promise<Verdict | null> {
    const { store } = this.#services;
    try {
      // An engine that died between the start and its record: the agent runs, or has run, already.
      if (await this.#alreadyStarted()) {
        this.#running();
        return null;
      }
      // Stopped, and then the engine was lost.
      if (this.#row().stop_cause === 'cancelled') return CANCELLED;
      await clearPreparation(this.attempt);
      this.#services.emit('attempt_preparing', this.attempt, 'preparing worktree and sandbox');
      const prepared = await prepareAttempt(this.#services, this.attempt);
      this.#sandbox = prepared.sandbox;
      await runSetup(this.attempt, prepared, this.#cancelled.signal);
      this.#check();
      if (this.#row().stop_cause === 'cancelled') return CANCELLED;
      await prepared.sandbox.start('agent', prepared.start);
      this.#running();
      // Cancelled in the moment of its start: the stop found nothing to stop.
      if (store.attempt(this.attempt.id)!.stop_cause === 'cancelled') await prepared.sandbox.stop('agent', 0);
      return null;
    } catch (error) {
      if (error instanceof Detached) throw error;
      if (this.#row().stop_cause === 'cancelled') return CANCELLED;
      return this.#failure(error);
    }
  }

  async #alreadyStarted(): Promise<boolean> {
    const ref = this.#row().sandbox_ref;
    if (ref === null) return false;
    const sandbox = await this.#services.providerOf(this.#row().level).adopt(ref);
    if (!sandbox) return false;
    this.#sandbox = sandbox;
    if (await sandbox.started('agent')) return true;
    await sandbox.destroy();
    this.#sandbox = undefined;
    return false;
  }

  #running(): void {
    this.#services.store.updateAttempt(this.attempt.id, {
      state: 'running',
      started_ms: this.#row().started_ms ?? this.#services.clock.now(),
    });
    this.#services.emit('attempt_running', this.attempt, 'running');
  }

  /** The sandbox of this attempt: the one made here, else what is left of an earlier engine's, else a new one of the same name. */
  async #enter(): Promise<Sandbox> {
    if (this.#sandbox) return this.#sandbox;
    const row = this.#row();
    const provider = this.#services.providerOf(row.level);
    this.#sandbox =
      (row.sandbox_ref === null ? null : await provider.adopt(row.sandbox_ref)) ??
      (await provider.create({
        attemptId: this.attempt.id,
        limits: JSON.parse(row.limits_json),
        oom: this.attempt.definition.oom,
        ioPath: row.worktree!,
      }));
    this.#services.store.updateAttempt(this.attempt.id, { sandbox_ref: this.#sandbox.ref });
    return this.#sandbox;
  }

  async #watch(sandbox: Sandbox): Promise<ExitRecord | null> {
    const { store, clock, sampler, adapterOf, log } = this.#services;
    const { definition, id, paths } = this.attempt;
    const watched = await watchAgent({
      adapter: adapterOf(definition.agent),
      sandbox,
      dir: paths.dir,
      clock,
      sampler,
      idleMs: definition.timeoutIdleMs,
      graceMs: definition.graceMs,
      onStop: (cause: StopCause) => store.updateAttempt(id, { stop_cause: cause }),
      onReport: (report) => {
        this.#report = report;
      },
      onError: (error) => log('warn', 'watching an agent', { attempt: id, error: String(error) }),
      signal: this.#abort.signal,
    });
    this.#check();
    this.#report = watched.report;
    // The counters are read again after the exit: SIGKILL can be seen before the event that explains it.
    // Figures are not worth an agent's work: without a helper there are only those seen before.
    const stats = (await sandbox.stats().catch(() => null)) ?? watched.stats;
    store.updateAttempt(id, {
      state: 'settling',
      session_id: watched.report.sessionId ?? null,
      usage_json: JSON.stringify(watched.report.usage),
      summary: watched.report.summary ?? null,
      cpu_us: cpuTime(stats?.cpuUs, watched.exit),
      memory_peak: stats?.memoryPeakBytes ?? (watched.exit ? watched.exit.maxrssKb * 1024 : null),
      oom_kills: Math.max(stats?.oomKills ?? 0, watched.exit?.oomKills ?? 0),
      pids_max_hits: stats?.pidsMaxHits ?? 0,
      duration_ms: watched.exit?.durationMs ?? null,
    });
    this.#services.emit('attempt_settling', this.attempt, 'taking over its work');
    return watched.exit;
  }

  async #settle(sandbox: Sandbox, exit: ExitRecord | null): Promise<void> {
    const spec = await savedSpec(this.attempt);
    if (!spec) return this.#finish({ outcome: 'sandbox_failed', reason: 'its saved start is gone' }, null);
    const before = this.#evidence(exit, { head: null, commits: 0, takeOverError: null, verify: null });
    const settled = await this.#trySettle(sandbox, spec, judgeAttempt(before).outcome);
    await this.#finish(judgeAttempt(this.#evidence(exit, settled)), settled);
  }

  async #trySettle(sandbox: Sandbox, spec: SavedSpec, soFar: Outcome): Promise<Settled> {
    try {
      return await settleAttempt(this.#services, this.attempt, sandbox, spec, {
        verify: outcomeRule(soFar).success,
        signal: this.#cancelled.signal,
      });
    } catch (error) {
      this.#services.log('error', 'settling failed', { attempt: this.attempt.id, error: String(error) });
      return { head: null, commits: 0, takeOverError: errorText(error), verify: null };
    }
  }

  #evidence(exit: ExitRecord | null, settled: Settled): Evidence {
    const row = this.#row();
    const { definition } = this.attempt;
    const limits = JSON.parse(row.limits_json) as { memory?: number; pids?: number };
    const adapter = this.#services.adapterOf(definition.agent);
    const cause =
      row.stop_cause === 'timeout_idle' || row.stop_cause === 'lingered'
        ? row.stop_cause
        : (exit?.cause ?? 'init_lost');
    const agent = adapter.judge(this.#report ?? { usage: {}, notes: [] }, {
      code: exit?.code ?? null,
      signal: exit?.signal ?? null,
      cause,
    });
    return {
      stopCause: row.stop_cause,
      cause: exit?.cause ?? 'lost',
      failed: exit === null || exit.code !== 0,
      oomKills: row.oom_kills ?? 0,
      oomPolicy: definition.oom,
      memoryLimitBytes: limits.memory,
      pidsMaxHits: row.pids_max_hits ?? 0,
      pidsLimit: limits.pids,
      agent,
      expects: definition.expects,
      changed: settled.head === null ? null : settled.head !== row.base,
      takeOverError: settled.takeOverError,
      verify: settled.verify,
    };
  }

  #failure(error: unknown): Verdict {
    const code = error instanceof DroverError ? error.code : '';
    this.#services.log('warn', 'an attempt could not be started', {
      attempt: this.attempt.id,
      code,
      error: errorText(error),
    });
    const hint = error instanceof DroverError && error.hint ? ` (${error.hint})` : '';
    return { outcome: OUTCOME_OF_ERROR[code] ?? 'sandbox_failed', reason: `${errorText(error)}${hint}` };
  }

  async #finish(verdict: Verdict, settled: Settled | null): Promise<void> {
    const { store } = this.#services;
    const { plan, task } = this.attempt;
    let { outcome, reason } = verdict;
    if (outcomeRule(outcome).success) {
      try {
        const repository = await this.#services.repositoryOf(plan.repository);
        const { branch } = await setResult(repository, taskName(this.attempt), {
          oid: settled!.head!,
          expectedOld: task.result,
        });
        store.updateTask(task.id, { result: settled!.head, branch, commits: settled!.commits });
      } catch (error) {
        ({ outcome, reason } = this.#failure(error));
      }
    }
    store.updateAttempt(this.attempt.id, { state: 'settling', outcome, reason, head: settled?.head ?? null });
    await this.#cleanUp();
  }

  /** Everything of this attempt but its records and commits goes. What cannot be removed is told, never passed over. */
  async #cleanUp(): Promise<void> {
    const { store, clock } = this.#services;
    await this.#step('sandbox', async () => (await this.#leftSandbox())?.destroy());
    if (!this.#keepsWorktree()) await this.#step('worktree', () => this.#removeWorktree());
    await this.#step('home', () => rm(this.attempt.paths.home, { recursive: true, force: true }));
    await this.#step('shadow', () => removeShadow(this.attempt.paths.shadow));
    await this.#step('stdin', () => rm(this.attempt.paths.stdin, { force: true }));
    store.updateAttempt(this.attempt.id, { state: 'ended', ended_ms: clock.now() });
  }

  async #leftSandbox(): Promise<Sandbox | null> {
    const row = this.#row();
    if (this.#sandbox) return this.#sandbox;
    return row.sandbox_ref === null ? null : this.#services.providerOf(row.level).adopt(row.sandbox_ref);
  }

  #keepsWorktree(): boolean {
    const keep = this.attempt.plan.keep_worktrees;
    const success = outcomeRule(this.#row().outcome!).success;
    return keep === 'always' || (keep === 'failed' && !success);
  }

  /** Changes beyond what was taken over, if there are any, go to a snapshot first. */
  async #removeWorktree(): Promise<void> {
    const row = this.#row();
    if (row.worktree === null || row.worktree_id === null || row.base === null) return;
    const repository = await this.#services.repositoryOf(this.attempt.plan.repository);
    const worktree = { path: row.worktree, id: row.worktree_id };
    const snapshot = await removeWorktree(repository, worktree, {
      head: row.head ?? row.base,
      snapshotRef: snapshotRef(taskName(this.attempt), this.attempt.number),
      identity: await gitIdentity(repository),
    });
    if (snapshot.skipped.length > 0) {
      this.#services.emit('warning', this.attempt, `not recorded: ${snapshot.skipped.slice(0, 5).join(', ')}`);
    }
    await removeEmptyParents(row.worktree, 2);
  }

  async #step(what: string, act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#services.log('error', `${what} could not be removed`, {
        attempt: this.attempt.id,
        error: errorText(error),
      });
      this.#services.emit('warning', this.attempt, `its ${what} could not be removed: ${errorText(error)}`);
    }
  }

  #row(): Attempt {
    return this.#services.store.attempt(this.attempt.id)!;
  }

  #check(): void {
    if (this.#abort.signal.aborted) throw new Detached();
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Without a cgroup the figures are a sum over living processes; the exit record then knows more. */
function cpuTime(sampled: number | undefined, exit: ExitRecord | null): number | null {
  if (!exit) return sampled ?? null;
  return Math.max(sampled ?? 0, exit.utimeUs + exit.stimeUs);
}
