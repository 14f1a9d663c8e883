import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TASK_CLASSES, type TaskClass } from '../tasks/definition.ts';
import { type Outcome, outcomeRule } from '../tasks/outcomes.ts';
import { decide } from './decide.ts';
import type { DependencyState, QueuedTask, SchedulerState } from './types.ts';

const MINUTE = 60_000;
const TOTAL_MEMORY = 100;
const HEADROOM = 10;

interface SimTask {
  ref: string;
  class: TaskClass;
  priority: number;
  submittedMs: number;
  dependsOn: string[];
  runsMs: number;
  outcome: Outcome;
  memory: number;
}

interface Books {
  state: 'queued' | 'active' | 'blocked' | 'ended';
  startedMs?: number;
  reason?: string;
}

/** A fleet whose tasks end as they are told, driven by decisions alone from one event to the next. */
class Simulation {
  readonly books: Map<string, Books>;
  readonly tasks: Map<string, SimTask>;
  readonly max: number;
  now = 0;

  constructor(tasks: readonly SimTask[], max: number) {
    this.tasks = new Map(tasks.map((task) => [task.ref, task]));
    this.books = new Map(tasks.map((task) => [task.ref, { state: 'queued' }]));
    this.max = max;
  }

  run(): void {
    for (let steps = 0; steps <= 3 * this.tasks.size + 3; steps += 1) {
      this.decide();
      const next = this.nextEventMs();
      if (next === null) return;
      this.now = next;
      for (const ref of this.of('active'))
        if (this.endsMs(ref) <= this.now) this.books.set(ref, { ...this.book(ref), state: 'ended' });
    }
    throw new Error('the simulation does not come to an end');
  }

  of(state: Books['state']): string[] {
    return [...this.books].flatMap(([ref, book]) => (book.state === state ? [ref] : []));
  }

  book(ref: string): Books {
    return this.books.get(ref)!;
  }

  private decide(): void {
    const { actions } = decide(this.schedulerState(), this.now, this.resources());
    for (const action of actions) {
      expect(this.book(action.ref).state).toBe('queued');
      if (action.kind === 'block') this.books.set(action.ref, { state: 'blocked', reason: action.reason });
      else this.books.set(action.ref, { state: 'active', startedMs: this.now });
    }
    this.check();
  }

  private check(): void {
    const active = this.of('active');
    expect(active.length).toBeLessThanOrEqual(this.max);
    const used = active.reduce((sum, ref) => sum + this.tasks.get(ref)!.memory, 0);
    if (active.length > 1) expect(used).toBeLessThanOrEqual(TOTAL_MEMORY - HEADROOM);
    for (const ref of active) {
      for (const other of this.tasks.get(ref)!.dependsOn) {
        expect(this.book(other).state).toBe('ended');
        expect(outcomeRule(this.tasks.get(other)!.outcome).success).toBe(true);
      }
    }
  }

  private schedulerState(): SchedulerState {
    const present = this.of('queued').filter((ref) => this.tasks.get(ref)!.submittedMs <= this.now);
    return {
      queued: present.map((ref, sequence) => this.queued(ref, sequence)),
      active: this.of('active').map((ref) => {
        const { memory } = this.tasks.get(ref)!;
        return { ref, plan: 'p', memoryEstimateBytes: memory, memoryBytes: memory };
      }),
      maxParallelAgents: this.max,
      planMax: new Map(),
    };
  }

  private queued(ref: string, sequence: number): QueuedTask {
    const { class: taskClass, priority, submittedMs, dependsOn, memory } = this.tasks.get(ref)!;
    const dependencies = dependsOn.map((other): DependencyState => {
      const { state, reason } = this.book(other);
      return {
        ref: other,
        state,
        outcome: this.tasks.get(other)!.outcome,
        ...(reason === undefined ? {} : { reason }),
      };
    });
    const base = { ref, plan: 'p', class: taskClass, priority, submittedMs, sequence, dependencies };
    return { ...base, strategy: 'priority_based', memoryEstimateBytes: memory };
  }

  private resources() {
    const used = this.of('active').reduce((sum, ref) => sum + this.tasks.get(ref)!.memory, 0);
    return { memoryAvailableBytes: Math.max(0, TOTAL_MEMORY - used), memoryHeadroomBytes: HEADROOM };
  }

  private endsMs(ref: string): number {
    return this.book(ref).startedMs! + this.tasks.get(ref)!.runsMs;
  }

  /** The next end of an attempt, or submission. */
  private nextEventMs(): number | null {
    const ends = this.of('active').map((ref) => this.endsMs(ref));
    const arrivals = this.of('queued')
      .map((ref) => this.tasks.get(ref)!.submittedMs)
      .filter((at) => at > this.now);
    const times = [...ends, ...arrivals];
    return times.length === 0 ? null : Math.min(...times);
  }
}

const plans: fc.Arbitrary<SimTask[]> = fc
  .array(
    fc.record({
      class: fc.constantFrom(...TASK_CLASSES),
      priority: fc.integer({ min: 0, max: 100 }),
      submittedMs: fc.integer({ min: 0, max: 5 * MINUTE }),
      before: fc.array(fc.nat(40), { maxLength: 3 }),
      runsMs: fc.integer({ min: 1, max: 10 * MINUTE }),
      outcome: fc.constantFrom<Outcome>(
        'ok',
        'ok',
        'ok',
        'ok',
        'ok_lingered',
        'agent_error',
        'oom_killed',
        'cancelled',
      ),
      memory: fc.integer({ min: 0, max: 120 }),
    }),
    { maxLength: 40 },
  )
  .map((shapes) =>
    shapes.map(({ before, ...task }, index) => {
      const dependsOn = [...new Set(before)].filter((other) => other < index).map((other) => `t${other}`);
      return { ...task, ref: `t${index}`, dependsOn };
    }),
  );

it('takes any plan to its end, with every task done or truly blocked', () => {
  fc.assert(
    fc.property(plans, fc.integer({ min: 1, max: 6 }), (tasks, max) => {
      const simulation = new Simulation(tasks, max);
      simulation.run();
      expect(simulation.of('active')).toEqual([]);
      expect(simulation.of('queued')).toEqual([]);
      for (const task of tasks) {
        const dead = task.dependsOn.some(
          (other) =>
            simulation.book(other).state === 'blocked' || !outcomeRule(simulation.tasks.get(other)!.outcome).success,
        );
        expect(simulation.book(task.ref).state).toBe(dead ? 'blocked' : 'ended');
        if (!dead) continue;
        const [, cause, outcome] = /^blocked: `(t\d+)` ended as (\w+)$/.exec(simulation.book(task.ref).reason!)!;
        expect(simulation.tasks.get(cause!)?.outcome).toBe(outcome);
        expect(simulation.book(cause!).state).toBe('ended');
      }
    }),
    { numRuns: 200 },
  );
});

it('starves nobody: the last batch task runs under a stream of urgent ones', () => {
  const runsMs = MINUTE;
  const urgent = Array.from({ length: 600 }, (_, index): SimTask => {
    const submittedMs = (index * runsMs) / 2;
    return {
      ref: `u${index}`,
      class: 'realtime',
      priority: 100,
      submittedMs,
      dependsOn: [],
      runsMs,
      outcome: 'ok',
      memory: 1,
    };
  });
  const lowly: SimTask = { ...urgent[0]!, ref: 'lowly', class: 'batch', priority: 0, submittedMs: 1 };
  const big: SimTask = { ...urgent[0]!, ref: 'big', class: 'batch', priority: 50, submittedMs: 2, memory: 90 };
  const simulation = new Simulation([...urgent, lowly, big], 1);
  simulation.run();
  // Two classes of an hour each, then what is left of the distance in priority.
  expect(simulation.book('lowly').startedMs!).toBeLessThan(3 * 60 * MINUTE);
  expect(simulation.book('big').startedMs!).toBeLessThan(3 * 60 * MINUTE);
});
