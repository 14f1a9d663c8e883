import { expect, test } from 'vitest';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

const world = useWorld();

/** Takes memory without end, in a child, so that the shell above it would survive a kill of the eater alone. */
const EATER = `node -e 'const held = []; for (;;) held.push(Buffer.alloc(8 << 20, 1))'; echo survived`;

test.runIf(isRoot)('a task that eats memory is oom_killed, and no other task notices', async () => {
  const repository = await world().repository();
  const neighbours = ['left', 'right'].map((id) =>
    task(id, `for i in 1 2 3 4 5 6; do sleep 0.3; echo $i >> steps-${id}.txt; done`),
  );
  await world().run(
    plan('memory', [
      task('eater', EATER, { limits: { memory: '96M' }, max_attempts: 1 }),
      ...neighbours,
      committing('small', { limits: { memory: '96M' } }),
    ]),
    { repository },
  );

  expect(await world().outcomes('memory')).toEqual({ eater: 'oom_killed', left: 'ok', right: 'ok', small: 'ok' });
  expect(await repository.show('drover/memory/left', 'steps-left.txt')).toBe('1\n2\n3\n4\n5\n6');
  const eater = await world().task('memory/eater');
  expect(eater.reason).toMatch(/memory/i);
  expect(eater.memoryPeakBytes).toBeGreaterThan(64 << 20);
  expect(eater.memoryPeakBytes).toBeLessThanOrEqual(96 << 20);
});
