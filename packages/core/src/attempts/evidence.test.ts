import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OUTCOMES, type Outcome, outcomeRule } from '../tasks/outcomes.ts';
import { type Evidence, judgeAttempt } from './evidence.ts';
import { IdleClock, PidsClock } from './watch.ts';

/** Everything went well. */
const GOOD: Evidence = {
  stopCause: null,
  cause: 'exit',
  failed: false,
  oomKills: 0,
  oomPolicy: 'kill',
  memoryLimitBytes: 2 ** 30,
  pidsMaxHits: 0,
  pidsLimit: 100,
  agent: { outcome: 'ok', detail: 'done' },
  expects: 'changes',
  changed: true,
  takeOverError: null,
  verify: { ok: true, detail: 'verified' },
};

describe('a verdict', () => {
  it.each<[string, Partial<Evidence>, Outcome]>([
    ['all good', {}, 'ok'],
    [
      'lingered after a good end',
      { stopCause: 'lingered', cause: 'stop', failed: true, agent: { outcome: 'ok_lingered', detail: '' } },
      'ok_lingered',
    ],
    ['a stop comes before all else', { stopCause: 'cancelled', oomKills: 1, cause: 'timeout_wall' }, 'cancelled'],
    ['an OOM kill, though the agent says it went well', { oomKills: 1 }, 'oom_killed'],
    ['an OOM kill that the task tolerates', { oomKills: 1, oomPolicy: 'tolerate' }, 'ok'],
    [
      'the limit of processes, and a failure',
      { pidsMaxHits: 3, failed: true, agent: { outcome: 'agent_error', detail: '' } },
      'pids_exhausted',
    ],
    ['one refused fork and no failure', { pidsMaxHits: 1 }, 'ok'],
    ['stuck at the limit of processes', { stopCause: 'pids', cause: 'stop', failed: true }, 'pids_exhausted'],
    [
      'wall clock',
      { cause: 'timeout_wall', failed: true, agent: { outcome: 'timeout_wall', detail: '' } },
      'timeout_wall',
    ],
    ['idle', { stopCause: 'timeout_idle', cause: 'stop', failed: true }, 'timeout_idle'],
    ['keeper and record gone', { cause: 'lost', failed: true }, 'keeper_lost'],
    ['init gone, though the agent had said it was done', { cause: 'init_lost', failed: true }, 'ok'],
    ['init gone', { cause: 'init_lost', failed: true, agent: { outcome: 'no_result', detail: '' } }, 'keeper_lost'],
    ['the agent’s own word', { agent: { outcome: 'rate_limited', detail: '' } }, 'rate_limited'],
    ['commits that could not be taken over', { takeOverError: 'x', changed: null }, 'sandbox_failed'],
    ['no change where one is expected', { changed: false }, 'no_changes'],
    ['no change where none is expected', { changed: false, expects: 'none' }, 'ok'],
    ['verify', { verify: { ok: false, detail: '' } }, 'verify_failed'],
    ['no verify asked for', { verify: null }, 'ok'],
  ])('%s', (_name, change, outcome) => {
    expect(judgeAttempt({ ...GOOD, ...change }).outcome).toBe(outcome);
  });

  it('is a success only with every piece of evidence, and always has a reason', () => {
    const outcome = fc.constantFrom(...(Object.keys(OUTCOMES) as Outcome[]));
    const evidence = fc.record<Evidence>({
      stopCause: fc.constantFrom(null, 'cancelled', 'timeout_idle', 'lingered', 'pids'),
      cause: fc.constantFrom('exit', 'stop', 'timeout_wall', 'init_lost', 'lost'),
      failed: fc.boolean(),
      oomKills: fc.nat(2),
      oomPolicy: fc.constantFrom('kill', 'tolerate'),
      memoryLimitBytes: fc.constantFrom(undefined, 1),
      pidsMaxHits: fc.nat(2),
      pidsLimit: fc.constantFrom(undefined, 1),
      agent: fc.record({ outcome, detail: fc.constant('detail') }),
      expects: fc.constantFrom('changes', 'none'),
      changed: fc.constantFrom(true, false, null),
      takeOverError: fc.constantFrom(null, 'x'),
      verify: fc.constantFrom(null, { ok: true, detail: 'v' }, { ok: false, detail: 'v' }),
    });
    fc.assert(
      fc.property(evidence, (e) => {
        const { outcome: decided, reason } = judgeAttempt(e);
        expect(reason).not.toBe('');
        if (!outcomeRule(decided).success) return;
        expect(outcomeRule(e.agent.outcome).success).toBe(true);
        expect(e.takeOverError).toBeNull();
        expect(e.verify?.ok ?? true).toBe(true);
        expect(e.expects === 'none' || e.changed !== false).toBe(true);
        expect(e.oomKills === 0 || e.oomPolicy === 'tolerate').toBe(true);
        expect(e.stopCause === null || e.stopCause === 'lingered').toBe(true);
      }),
    );
  });
});

describe('idle', () => {
  it('is neither output nor CPU use, and stands still while frozen', () => {
    const clock = new IdleClock(0);
    expect(clock.idleFor({ cpuUs: 0 }, 1000)).toBe(1000);
    expect(clock.idleFor({ cpuUs: 500_000 }, 2000)).toBe(0);
    expect(clock.idleFor({ cpuUs: 500_500 }, 3000)).toBe(1000);
    clock.alive(3500);
    expect(clock.idleFor({ cpuUs: 500_500 }, 4000)).toBe(500);
    expect(clock.idleFor({ cpuUs: 500_500, frozen: true }, 9000)).toBe(500);
    expect(clock.idleFor({ cpuUs: 500_500 }, 10_000)).toBe(1500);
  });

  it('without figures is judged by output alone', () => {
    const clock = new IdleClock(0);
    clock.alive(400);
    expect(clock.idleFor({}, 1000)).toBe(600);
  });
});

it('the process limit counts as exhausted only while new hits come', () => {
  const clock = new PidsClock();
  expect(clock.stuckFor({ pidsMaxHits: 0 }, 0)).toBe(0);
  expect(clock.stuckFor({ pidsMaxHits: 5 }, 1000)).toBe(0);
  expect(clock.stuckFor({ pidsMaxHits: 9 }, 3000)).toBe(2000);
  expect(clock.stuckFor({ pidsMaxHits: 9 }, 4000)).toBe(0);
  expect(clock.stuckFor({ pidsMaxHits: 10 }, 5000)).toBe(0);
});
