import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

const world = useWorld();

test.runIf(isRoot)('a damaged record costs its attempt and leaves nothing; the work is in a snapshot', async () => {
  const repository = await world().repository();
  const running = world().run(plan('damaged', [task('one', 'echo one > one.txt; sleep 3', { max_attempts: 1 })]), {
    repository,
  });
  await world().until('damaged/one', (t) => t.attemptState === 'running');
  const [attempt] = (await world().task('damaged/one')).history;
  writeFileSync(join(attempt!.directory, 'spec.json'), '{damaged');
  await running;
  expect(await world().outcomes('damaged')).toEqual({ one: 'sandbox_failed' });
  expect(await repository.git('for-each-ref', 'refs/drover/snapshots')).toContain('damaged/one');
});
