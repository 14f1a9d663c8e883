import { expect, test } from 'vitest';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('each clock ends what it is for, and nothing else', async () => {
  const repository = await world().repository();
  const started = performance.now();
  await world().run(
    plan('clocks', [
      task('too-long', 'while :; do echo busy; sleep 0.2; done', { timeouts: { wall: '3s', grace: '1s' } }),
      task('too-quiet', 'echo once; sleep 120', { timeouts: { idle: '3s', grace: '1s' }, max_attempts: 1 }),
      task('chatty', 'for i in 1 2 3 4 5; do sleep 1; echo $i; done; echo x > x.txt', { timeouts: { idle: '3s' } }),
      task('unlimited', 'sleep 1; echo u > u.txt', { timeout: 'none' }),
      task('ignores-term', "trap '' TERM; while :; do sleep 0.2; done", { timeouts: { wall: '2s', grace: '1s' } }),
    ]),
    { repository },
  );

  expect(await world().outcomes('clocks')).toEqual({
    'too-long': 'timeout_wall',
    'too-quiet': 'timeout_idle',
    chatty: 'ok',
    unlimited: 'ok',
    'ignores-term': 'timeout_wall',
  });
  expect(performance.now() - started).toBeLessThan(45_000);
  expect((await world().task('clocks/too-long')).elapsedMs).toBeLessThan(15_000);
});
