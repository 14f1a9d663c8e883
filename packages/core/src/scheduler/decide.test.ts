import { describe, expect, it } from 'vitest';
import { AGING_MS_PER_CLASS, decide } from './index.ts';
import type { DependencyState, QueuedTask, Resources, SchedulerState } from './types.ts';

const GIB = 1024 ** 3;
const PLENTY: Resources = { memoryAvailableBytes: 1000 * GIB, memoryHeadroomBytes: 0 };
const NOW = 1_000_000_000;

let sequence = 0;
function task(ref: string, over: Partial<QueuedTask> = {}): QueuedTask {
  sequence += 1;
  return {
    ref,
    plan: 'p',
    class: 'batch',
    priority: 50,
    strategy: 'priority_based',
    submittedMs: NOW,
    sequence,
    dependencies: [],
    memoryEstimateBytes: GIB,
    ...over,
  };
}

const state = (queued: QueuedTask[], over: Partial<SchedulerState> = {}): SchedulerState => ({
  queued,
  active: [],
  maxParallelAgents: 10,
  planMax: new Map(),
  ...over,
});

const running = (ref: string, over = {}) => ({ ref, plan: 'p', memoryEstimateBytes: GIB, ...over });

const started = (from: SchedulerState, resources = PLENTY, now = NOW) =>
  decide(from, now, resources).actions.flatMap((action) => (action.kind === 'start' ? [action.ref] : []));

describe('order', () => {
  it('is class, then priority, then submission', () => {
    const queued = [
      task('low', { priority: 25 }),
      task('old', { priority: 50 }),
      task('new', { priority: 50 }),
      task('typing', { class: 'realtime', priority: 0 }),
      task('talking', { class: 'interactive', priority: 0 }),
      task('high', { priority: 75 }),
    ];
    expect(started(state(queued))).toEqual(['typing', 'talking', 'high', 'old', 'new', 'low']);
  });

  it('lets a task rise with its age: low before medium after ten minutes', () => {
    const queued = (waited: number) => [
      task('fresh', { priority: 50 }),
      task('aged', { priority: 25, submittedMs: NOW - waited }),
    ];
    expect(started(state(queued(9 * 60_000)))).toEqual(['fresh', 'aged']);
    expect(started(state(queued(11 * 60_000)))).toEqual(['aged', 'fresh']);
  });

  it('lets a class rise too', () => {
    const queued = [
      task('urgent', { class: 'interactive', priority: 100 }),
      task('aged', { submittedMs: NOW - 2 * AGING_MS_PER_CLASS }),
    ];
    expect(started(state(queued))).toEqual(['aged', 'urgent']);
  });

  it('is submission alone inside a fifo plan', () => {
    const fifo = { strategy: 'fifo', plan: 'f' } as const;
    const queued = [
      task('first', { ...fifo, priority: 0 }),
      task('second', { ...fifo, priority: 100, class: 'realtime' }),
      task('third', fifo),
    ];
    expect(started(state(queued))).toEqual(['first', 'second', 'third']);
  });
});

describe('dependencies', () => {
  const after = (ref: string, over: Partial<DependencyState> = {}): DependencyState => ({
    ref,
    state: 'queued',
    ...over,
  });

  it('wait while the other is queued or active, and say so', () => {
    const queued = [task('p/a'), task('p/b', { dependencies: [after('p/a'), after('p/z', { state: 'active' })] })];
    const { actions, reasons } = decide(state(queued), NOW, PLENTY);
    expect(actions).toEqual([{ kind: 'start', ref: 'p/a' }]);
    expect(reasons.get('p/b')).toBe('waits for `p/a` (queued), `p/z` (active)');
  });

  it('are met by success only', () => {
    const on = (outcome: DependencyState['outcome']) =>
      decide(
        state([task('b', { dependencies: [after('a', { state: 'ended', outcome: outcome ?? null })] })]),
        NOW,
        PLENTY,
      );
    expect(on('ok').actions).toEqual([{ kind: 'start', ref: 'b' }]);
    expect(on('ok_lingered').actions).toEqual([{ kind: 'start', ref: 'b' }]);
    for (const outcome of ['oom_killed', 'cancelled', 'keeper_lost', 'no_changes', null] as const) {
      expect(on(outcome).actions[0]?.kind).toBe('block');
    }
  });

  it('block all that follow, with the cause at the root', () => {
    const queued = [
      task('d', { dependencies: [after('c')] }),
      task('c', { dependencies: [after('b')] }),
      task('b', { dependencies: [after('a', { state: 'ended', outcome: 'oom_killed' })] }),
      task('x'),
    ];
    const { actions, reasons } = decide(state(queued), NOW, PLENTY);
    const reason = 'blocked: `a` ended as oom_killed';
    expect(actions).toEqual([
      { kind: 'block', ref: 'd', reason },
      { kind: 'block', ref: 'c', reason },
      { kind: 'block', ref: 'b', reason },
      { kind: 'start', ref: 'x' },
    ]);
    expect([...reasons]).toEqual(['d', 'c', 'b'].map((ref) => [ref, reason]));
  });

  it('carry on the cause of what was blocked earlier', () => {
    const dependencies = [after('b', { state: 'blocked', reason: 'blocked: `a` ended as timeout_wall' })];
    expect(decide(state([task('c', { dependencies })]), NOW, PLENTY).reasons.get('c')).toBe(
      'blocked: `a` ended as timeout_wall',
    );
  });

  it('block on what is not there any more', () => {
    const dependencies = [after('gone', { state: 'missing' })];
    expect(decide(state([task('c', { dependencies })]), NOW, PLENTY).actions[0]?.kind).toBe('block');
  });

  it('do not hang on a circle', () => {
    const queued = [task('a', { dependencies: [after('b')] }), task('b', { dependencies: [after('a')] })];
    expect(decide(state(queued), NOW, PLENTY).actions).toEqual([]);
  });
});

describe('admission', () => {
  it('fills the slots of fleet and plan', () => {
    const queued = [task('a'), task('b'), task('c', { plan: 'q' }), task('d', { plan: 'q' })];
    const { actions, reasons } = decide(
      state(queued, { planMax: new Map([['p', 1]]), maxParallelAgents: 2 }),
      NOW,
      PLENTY,
    );
    expect(actions).toEqual([
      { kind: 'start', ref: 'a' },
      { kind: 'start', ref: 'c' },
    ]);
    expect(reasons.get('b')).toBe('waits for a slot: plan `p` runs 1 of at most 1');
    expect(reasons.get('d')).toBe('waits for a slot: 2 of at most 2 agents run');
  });

  it('waits until a time', () => {
    const notBefore = { atMs: NOW + 1000, why: 'rate limit of claude' };
    const queued = [task('a', { notBefore })];
    expect(decide(state(queued), NOW, PLENTY).reasons.get('a')).toBe(
      'waits until 1970-01-12T13:46:41.000Z: rate limit of claude',
    );
    expect(started(state(queued), PLENTY, NOW + 1000)).toEqual(['a']);
  });

  it('waits for memory, with the figures', () => {
    const from = state([task('a', { memoryEstimateBytes: 3.1 * GIB })], {
      active: [running('x', { memoryBytes: GIB })],
    });
    const { reasons } = decide(from, NOW, { memoryAvailableBytes: 2.7 * GIB, memoryHeadroomBytes: 0.5 * GIB });
    expect(reasons.get('a')).toBe('waits: memory estimate 3.1 GB, available 2.2 GB');
  });

  it('counts what was promised and is not used yet', () => {
    const resources = { memoryAvailableBytes: 4 * GIB, memoryHeadroomBytes: 0 };
    const active = [running('x', { memoryEstimateBytes: 3 * GIB, memoryBytes: GIB })];
    const queued = [task('a', { memoryEstimateBytes: 2 * GIB }), task('b', { memoryEstimateBytes: 1 })];
    expect(started(state(queued, { active }), resources)).toEqual(['a']);
  });

  it('starts one when nothing runs, whatever it needs', () => {
    const queued = [task('a', { memoryEstimateBytes: 50 * GIB }), task('b')];
    const { actions, reasons } = decide(state(queued), NOW, { memoryAvailableBytes: GIB, memoryHeadroomBytes: GIB });
    expect(actions).toEqual([{ kind: 'start', ref: 'a' }]);
    expect(reasons.get('b')).toBe('waits: memory estimate 1 GB, available 0 B');
  });

  it('lets nobody overtake who waits for memory', () => {
    const from = state([task('big', { memoryEstimateBytes: 8 * GIB }), task('small', { memoryEstimateBytes: 1 })], {
      active: [running('x')],
    });
    const { actions, reasons } = decide(from, NOW, { memoryAvailableBytes: 4 * GIB, memoryHeadroomBytes: 0 });
    expect(actions).toEqual([]);
    expect(reasons.get('small')).toBe('waits behind `big`, which waits for memory');
  });
});
