import { DroverError } from '../../shared/errors.ts';
import type * as c from '../contract.ts';
import type { EngineService } from '../router.ts';
import { API_VERSION, DROVER_VERSION } from '../version.ts';
import { fakeDetail, fakeTask } from './fake-views.ts';

/**
 * An engine without agents, for tests of what talks to one: tasks and events are what the test says.
 * Replace a member to change what a call does.
 */
export class FakeEngine implements EngineService {
  readonly tasks = new Map<string, c.TaskView>();
  readonly details = new Map<string, Partial<c.TaskDetail>>();
  readonly log: c.FleetEvent[] = [];
  readonly calls: Array<[name: string, input: unknown]> = [];
  readonly places = new Map<string, c.LogPlace>();
  onSubmit: (input: c.PlanSubmit | c.TaskSpawn) => void = () => {};
  onShutdown: () => void = () => {};
  #wake: Array<() => void> = [];
  #followed: Array<() => void> = [];

  /** Adds or changes a task; `emit` tells of it. */
  put(ref: string, change: Partial<c.TaskView> = {}): c.TaskView {
    const view = { ...(this.tasks.get(ref) ?? fakeTask(ref)), ...change };
    this.tasks.set(ref, view);
    return view;
  }

  /** Appends an event and wakes every subscriber. */
  emit(kind: c.FleetEvent['kind'], ref: string | null, text: string, data: Record<string, unknown> = {}): void {
    const plan = ref?.split('/')[0] ?? null;
    this.log.push({ seq: this.log.length + 1, atMs: Date.now(), kind, ref, plan, text, data });
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** Resolves when a client has all events so far and waits for more. */
  whenFollowed(): Promise<void> {
    return this.#wake.length > 0 ? Promise.resolve() : new Promise((resolve) => this.#followed.push(resolve));
  }

  async info(): Promise<c.EngineInfo> {
    return {
      version: DROVER_VERSION,
      apiVersion: API_VERSION,
      pid: process.pid,
      startedMs: 0,
      stateDir: '/state',
      levels: [
        { level: 'basic', available: true, reason: 'always' },
        { level: 'enhanced', available: true, reason: 'the helper answers' },
        { level: 'full', available: false, reason: 'not built' },
      ],
      openTasks: [...this.tasks.values()].filter((t) => t.state !== 'ended').length,
    };
  }

  async shutdown(input: { force: boolean }): Promise<void> {
    this.calls.push(['shutdown', input]);
    const open = [...this.tasks.values()].some((t) => t.state === 'active');
    if (open && !input.force) throw new DroverError('tasks_open', 'Tasks are active.', 'drover down --force');
    this.onShutdown();
  }

  async submitPlan(input: c.PlanSubmit): Promise<c.Submitted> {
    this.calls.push(['submitPlan', input]);
    const sinceEvent = this.log.length;
    this.onSubmit(input);
    return this.#submitted('demo', sinceEvent);
  }

  async spawnTask(input: c.TaskSpawn): Promise<c.Submitted> {
    this.calls.push(['spawnTask', input]);
    const sinceEvent = this.log.length;
    this.onSubmit(input);
    return this.#submitted('solo', sinceEvent);
  }

  #submitted(plan: string, sinceEvent: number): c.Submitted {
    const tasks = [...this.tasks.values()].filter((t) => t.plan === plan);
    return {
      plan,
      level: 'enhanced',
      levelReason: 'enhanced: the helper answers',
      base: 'a'.repeat(40),
      warnings: [],
      tasks: tasks.map((t) => ({ ref: t.ref, state: t.state, skipped: false })),
      sinceEvent,
    };
  }

  async status(input: { plan?: string | undefined; all?: boolean | undefined }): Promise<c.FleetStatus> {
    const tasks = [...this.tasks.values()].filter((t) => !input.plan || t.plan === input.plan);
    const names = [...new Set(tasks.map((t) => t.plan))];
    const count = (plan: string, state: string) => tasks.filter((t) => t.plan === plan && t.state === state).length;
    return {
      engine: await this.info(),
      plans: names.map((name) => ({
        name,
        repository: '/repo',
        level: 'enhanced',
        counts: {
          queued: count(name, 'queued'),
          active: count(name, 'active'),
          blocked: count(name, 'blocked'),
          ended: count(name, 'ended'),
          ok: tasks.filter((t) => t.plan === name && t.outcome === 'ok').length,
        },
      })),
      tasks,
      lastEvent: this.log.length,
      slots: { used: tasks.filter((t) => t.state === 'active').length, max: 4 },
      machine: { cpus: 2, load1: 0.5, memoryTotalBytes: 8 * 1024 ** 3, memoryAvailableBytes: 4 * 1024 ** 3 },
    };
  }

  async task({ ref }: { ref: string }): Promise<c.TaskDetail> {
    return { ...fakeDetail(this.#find(ref)), ...this.details.get(ref) };
  }

  async stop(input: { refs: string[] }): Promise<{ stopped: string[] }> {
    this.calls.push(['stop', input]);
    return { stopped: input.refs.map((ref) => (ref.endsWith('/') ? ref : this.#find(ref).ref)) };
  }

  async remove(input: { refs: string[]; unmerged?: boolean | undefined }): Promise<{ removed: string[] }> {
    this.calls.push(['remove', input]);
    return { removed: input.refs.map((ref) => this.#find(ref).ref) };
  }

  async diff(input: { ref: string; stat?: boolean | undefined }): Promise<c.DiffResult> {
    this.#find(input.ref);
    const text = input.stat ? ' a.txt | 1 +\n' : 'diff --git a/a.txt b/a.txt\n+hello\n';
    return { base: 'a'.repeat(40), head: 'b'.repeat(40), text, truncated: false };
  }

  async logs({ ref }: { ref: string }): Promise<c.LogPlace> {
    const place = this.places.get(this.#find(ref).ref);
    if (!place) throw new DroverError('no_attempt', `${ref} has not begun.`);
    return place;
  }

  async *events(input: { sinceSeq: number; plan?: string | undefined }, signal: AbortSignal) {
    let at = input.sinceSeq;
    while (!signal.aborted) {
      for (const event of this.log.slice(at)) {
        at = event.seq;
        if (!input.plan || event.plan === input.plan) yield event;
      }
      if (at < this.log.length) continue;
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
        for (const tell of this.#followed.splice(0)) tell();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  #find(ref: string): c.TaskView {
    const found = this.tasks.get(ref) ?? [...this.tasks.values()].find((t) => t.task === ref);
    if (found) return found;
    throw new DroverError('no_such_task', `There is no task '${ref}'.`, 'See: drover ls --all');
  }
}
