import { expect, test } from 'vitest';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('stop cancels one task, blocks its dependents and leaves the rest; a rerun does only what is missing', async () => {
  const repository = await world().repository();
  const first = plan('halted', [
    task('slow', 'if test -e ran-before; then exit 0; fi; echo half > half.txt; sleep 60'),
    committing('after', { depends_on: ['slow'] }),
    task('other', 'sleep 3; echo other > other.txt'),
  ]);
  const running = world().run(first, { repository });
  await world().until('halted/slow', (t) => t.attemptState === 'running');
  const stopped = await world().drover(repository.path, ['stop', 'halted/slow']);
  expect(stopped.exitCode).toBe(0);
  await running;

  expect(await world().outcomes('halted')).toEqual({ slow: 'cancelled', after: 'blocked', other: 'ok' });

  const second = { ...first, tasks: [committing('slow'), ...first.tasks.slice(1)] };
  await world().run(second, { repository });
  expect(await world().outcomes('halted')).toEqual({ slow: 'ok', after: 'ok', other: 'ok' });
  expect((await world().task('halted/other')).attempts).toBe(1);
});

test('stop of a whole plan ends all that runs and all that waits', async () => {
  const repository = await world().repository();
  const running = world().run(
    plan('all', [task('one', 'sleep 60'), task('two', 'sleep 60'), committing('three', { depends_on: ['one'] })]),
    { repository },
  );
  await world().until('all/two', (t) => t.attemptState === 'running');
  await world().drover(repository.path, ['stop', 'all/']);
  await running;
  const states = [...(await world().tasks()).values()].filter((t) => t.plan === 'all').map((t) => t.outcome ?? t.state);
  expect(states.filter((state) => state === 'queued' || state === 'active')).toEqual([]);
});

test('stop ends setup and verify commands too', async () => {
  const repository = await world().repository();
  const running = world().run(
    plan('early', [
      task('setup', 'true', { setup: ['sleep 60'] }),
      committing('verify', { verify: 'echo begun; sleep 60' }),
    ]),
    { repository },
  );
  await world().until('early/setup', (t) => t.attemptState === 'preparing');
  await world().until('early/verify', (t) => t.attemptState === 'settling');
  const begun = performance.now();
  await world().drover(repository.path, ['stop', 'early/']);
  await running;
  expect(performance.now() - begun).toBeLessThan(30_000);
  expect(await world().outcomes('early')).toEqual({ setup: 'cancelled', verify: 'cancelled' });
});
