import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TASK_CLASSES } from '../tasks/definition.ts';
import { outcomeRule } from '../tasks/outcomes.ts';
import { decide } from './decide.ts';
import { AGING_MS_PER_POINT, inOrder } from './order.ts';
import type { ActiveAttempt, DependencyState, QueuedTask, Resources, SchedulerState } from './types.ts';

const NOW = 1_700_000_000_000;
const HOUR = 3_600_000;

interface Case {
  state: SchedulerState;
  resources: Resources;
}

const outside = fc.constantFrom<DependencyState>(
  { ref: 'done', state: 'ended', outcome: 'ok' },
  { ref: 'done-too', state: 'ended', outcome: 'ok_lingered' },
  { ref: 'running', state: 'active' },
  { ref: 'failed', state: 'ended', outcome: 'agent_error' },
  { ref: 'blocked', state: 'blocked', reason: 'blocked: `z` ended as cancelled' },
  { ref: 'gone', state: 'missing' },
);

const shape = fc.record({
  plan: fc.constantFrom('p', 'q'),
  class: fc.constantFrom(...TASK_CLASSES),
  priority: fc.integer({ min: 0, max: 100 }),
  waitedMs: fc.integer({ min: 0, max: 3 * HOUR }),
  before: fc.array(fc.nat(30), { maxLength: 2 }),
  outside: fc.option(outside, { nil: null, freq: 3 }),
  waits: fc.boolean(),
  memory: fc.integer({ min: 0, max: 100 }),
});

const cases: fc.Arbitrary<Case> = fc
  .record({
    shapes: fc.array(shape, { maxLength: 25 }),
    active: fc.array(
      fc.record({
        plan: fc.constantFrom('p', 'q'),
        estimate: fc.nat(100),
        uses: fc.option(fc.nat(150), { nil: null }),
      }),
      { maxLength: 6 },
    ),
    max: fc.integer({ min: 1, max: 8 }),
    planMax: fc.option(fc.integer({ min: 1, max: 8 }), { nil: null }),
    available: fc.nat(400),
    headroom: fc.nat(50),
    fifo: fc.boolean(),
  })
  .map(({ shapes, active, max, planMax, available, headroom, fifo }) => ({
    state: {
      queued: shapes.map((each, index): QueuedTask => {
        const inside = each.before
          .filter((other) => other < index)
          .map((other): DependencyState => ({ ref: `t${other}`, state: 'queued' }));
        return {
          ref: `t${index}`,
          plan: each.plan,
          class: each.class,
          priority: each.priority,
          strategy: fifo && each.plan === 'q' ? 'fifo' : 'priority_based',
          submittedMs: NOW - each.waitedMs,
          sequence: index,
          dependencies: each.outside ? [...inside, each.outside] : inside,
          ...(each.waits && each.priority % 3 === 0 ? { notBefore: { atMs: NOW + 1, why: 'test' } } : {}),
          memoryEstimateBytes: each.memory,
        };
      }),
      active: active.map(({ plan, estimate, uses }, index): ActiveAttempt => {
        const known = uses === null ? {} : { memoryBytes: uses };
        return { ref: `r${index}`, plan, memoryEstimateBytes: estimate, ...known };
      }),
      maxParallelAgents: max,
      planMax: new Map(planMax === null ? [] : [['p', planMax]]),
    },
    resources: { memoryAvailableBytes: available, memoryHeadroomBytes: headroom },
  }));

const check = (property: (each: Case) => void) => fc.assert(fc.property(cases, property), { numRuns: 500 });

function refs(each: Case, kind: 'start' | 'block'): string[] {
  return decide(each.state, NOW, each.resources).actions.flatMap((action) =>
    action.kind === kind ? [action.ref] : [],
  );
}

const find = (state: SchedulerState, ref: string) => state.queued.find((task) => task.ref === ref)!;

/** Carries a decision out: started tasks run, blocked ones leave the queue and are seen as blocked. */
function carryOut({ state, resources }: Case): Case {
  const { actions } = decide(state, NOW, resources);
  const started = new Set(actions.flatMap((action) => (action.kind === 'start' ? [action.ref] : [])));
  const blocked = new Map(actions.flatMap((action) => (action.kind === 'block' ? [[action.ref, action.reason]] : [])));
  const rest = state.queued.filter(({ ref }) => !started.has(ref) && !blocked.has(ref));
  const seen = (dependency: DependencyState): DependencyState => {
    if (started.has(dependency.ref)) return { ...dependency, state: 'active' };
    const reason = blocked.get(dependency.ref);
    return reason === undefined ? dependency : { ...dependency, state: 'blocked', reason };
  };
  const queued = rest.map((task) => ({ ...task, dependencies: task.dependencies.map(seen) }));
  const now = [...started].map((ref) => find(state, ref));
  const active = now.map(({ ref, plan, memoryEstimateBytes }) => ({ ref, plan, memoryEstimateBytes }));
  return { state: { ...state, queued, active: [...state.active, ...active] }, resources };
}

describe('every decision', () => {
  it('stays within the slots of fleet and plans', () =>
    check((each) => {
      const { state } = each;
      const started = refs(each, 'start');
      expect(started.length).toBeLessThanOrEqual(Math.max(0, state.maxParallelAgents - state.active.length));
      for (const [plan, max] of state.planMax) {
        const before = state.active.filter((attempt) => attempt.plan === plan).length;
        const more = started.filter((ref) => find(state, ref).plan === plan).length;
        expect(more).toBeLessThanOrEqual(Math.max(0, max - before));
      }
    }));

  it('starts in the order of the queue', () =>
    check((each) => {
      const order = inOrder(each.state.queued, NOW).map(({ ref }) => ref);
      const places = refs(each, 'start').map((ref) => order.indexOf(ref));
      expect(places).toEqual([...places].sort((a, b) => a - b));
    }));

  it('passes over a task only for a reason of its own', () =>
    check((each) => {
      const { reasons } = decide(each.state, NOW, each.resources);
      const started = refs(each, 'start');
      const order = inOrder(each.state.queued, NOW).map(({ ref }) => ref);
      const last = Math.max(-1, ...started.map((ref) => order.indexOf(ref)));
      for (const ref of order.slice(0, last + 1)) {
        if (!started.includes(ref)) expect(reasons.get(ref)).not.toMatch(/agents run|memory/);
      }
    }));

  it('starts only what has all its dependencies, and is not to wait', () =>
    check((each) => {
      for (const ref of refs(each, 'start')) {
        const { dependencies, notBefore } = find(each.state, ref);
        expect(notBefore?.atMs ?? 0).toBeLessThanOrEqual(NOW);
        for (const { state, outcome } of dependencies) {
          expect(state).toBe('ended');
          expect(outcomeRule(outcome!).success).toBe(true);
        }
      }
    }));

  it('blocks exactly what can never start', () =>
    check((each) => {
      const blocked = new Set(refs(each, 'block'));
      for (const task of each.state.queued) {
        const dead = task.dependencies.some(
          ({ ref, state, outcome }) =>
            blocked.has(ref) ||
            state === 'blocked' ||
            state === 'missing' ||
            (state === 'ended' && !outcomeRule(outcome!).success),
        );
        expect(blocked.has(task.ref)).toBe(dead);
      }
    }));

  it('never starts and blocks the same task, and has a reason for all that it does not start', () =>
    check((each) => {
      const { reasons } = decide(each.state, NOW, each.resources);
      const started = refs(each, 'start');
      const blocked = refs(each, 'block');
      expect(new Set([...started, ...blocked]).size).toBe(started.length + blocked.length);
      const waiting = each.state.queued.map(({ ref }) => ref).filter((ref) => !started.includes(ref));
      expect([...reasons.keys()].sort()).toEqual(waiting.sort());
      for (const reason of reasons.values()) expect(reason).toMatch(/^(waits|blocked)\b.+/);
    }));

  it('keeps within memory, but for one when nothing runs', () =>
    check((each) => {
      const { state, resources } = each;
      const promised = state.active.reduce(
        (sum, a) => sum + Math.max(0, a.memoryEstimateBytes - (a.memoryBytes ?? 0)),
        0,
      );
      const free = resources.memoryAvailableBytes - resources.memoryHeadroomBytes - promised;
      const taken = refs(each, 'start').map((ref) => find(state, ref).memoryEstimateBytes);
      const counted = state.active.length === 0 ? taken.slice(1) : taken;
      if (counted.length > 0) expect(taken.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(free);
    }));

  it('starts something when nothing runs and something can', () =>
    check((each) => {
      if (each.state.active.length > 0) return;
      const ready = each.state.queued.filter(
        ({ dependencies, notBefore }) =>
          notBefore === undefined &&
          dependencies.every(({ state, outcome }) => state === 'ended' && outcomeRule(outcome!).success),
      );
      if (ready.length > 0) expect(refs(each, 'start')).not.toEqual([]);
    }));

  it('is the same for the same, in whatever order the queue is given', () =>
    check((each) => {
      const again = decide({ ...each.state, queued: [...each.state.queued].reverse() }, NOW, each.resources);
      const first = decide(each.state, NOW, each.resources);
      expect(again.actions).toEqual(first.actions);
      expect(new Map([...again.reasons].sort())).toEqual(new Map([...first.reasons].sort()));
    }));

  it('has nothing to add once it was carried out', () =>
    check((each) => {
      const next = carryOut(each);
      expect(decide(next.state, NOW, next.resources).actions).toEqual([]);
    }));

  it('changes nothing that it was given', () =>
    check((each) => {
      const before = JSON.stringify(each.state.queued);
      decide(each.state, NOW, each.resources);
      expect(JSON.stringify(each.state.queued)).toBe(before);
    }));
});

it('orders by class and aged priority', () =>
  check(({ state }) => {
    const order = inOrder(
      state.queued.filter(({ strategy }) => strategy === 'priority_based'),
      NOW,
    );
    order.slice(1).forEach((next, index) => {
      const task = order[index]!;
      const young = (each: QueuedTask) => NOW - each.submittedMs < HOUR;
      if (!young(task) || !young(next)) return;
      const classes = TASK_CLASSES.indexOf(task.class) - TASK_CLASSES.indexOf(next.class);
      expect(classes).toBeLessThanOrEqual(0);
      if (classes < 0) return;
      const aged = (each: QueuedTask) => each.priority + (NOW - each.submittedMs) / AGING_MS_PER_POINT;
      expect(aged(task)).toBeGreaterThanOrEqual(aged(next));
    });
  }));
