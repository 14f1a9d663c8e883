import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

// An ordinary user's engine cannot start a helper by itself.
const world = useWorld({ asUser: true });

test.runIf(isRoot)('a helper that is away when an agent ends costs nothing and leaves nothing', async () => {
  const repository = await world().repository();
  const running = world().run(plan('away', [task('one', 'sleep 2; echo one > one.txt')]), { repository });
  await world().until('away/one', (t) => t.attemptState === 'running');
  await world().helper!.kill();
  await sleep(5_000);
  await world().helper!.start();
  await running;
  expect(await world().outcomes('away')).toEqual({ one: 'ok' });
});

test.runIf(isRoot)('an engine that starts before its helper takes up its agents when that is back', async () => {
  const repository = await world().repository();
  const running = world().run(plan('both', [task('one', 'sleep 3; echo one > one.txt')]), { repository });
  await world().until('both/one', (t) => t.attemptState === 'running');
  await world().helper!.kill();
  await world().killEngine();
  await sleep(5_000);
  await world().helper!.start();
  await running;
  await world().until('both/one', (t) => t.state === 'ended');
  expect(await world().outcomes('both')).toEqual({ one: 'ok' });
});

test.runIf(isRoot)('a stop while an agent waits to be taken up is not forgotten', async () => {
  const repository = await world().repository();
  const running = world().run(plan('unseen', [task('one', 'sleep 100')]), { repository });
  await world().until('unseen/one', (t) => t.attemptState === 'running');
  await world().helper!.kill();
  await world().killEngine();
  await world().until('unseen/one', (t) => t.attemptState === 'running');
  await world().drover(repository.path, ['stop', 'unseen/']);
  await world().helper!.start();
  await running;
  await world().until('unseen/one', (t) => t.state === 'ended');
  expect(await world().outcomes('unseen')).toEqual({ one: 'cancelled' });
});
