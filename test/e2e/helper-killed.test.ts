import { expect, test } from 'vitest';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

const world = useWorld();

test.runIf(isRoot)('kill -9 of the helper in the middle of a plan: agents go on, and limits still hold', async () => {
  const repository = await world().repository();
  const running = world().run(
    plan('headless', [
      task('long', 'sleep 5; echo long > long.txt'),
      task('eater', "sleep 5; node -e 'const a = []; for (;;) a.push(Buffer.alloc(8 << 20, 1))'", {
        limits: { memory: '96M' },
        max_attempts: 1,
      }),
      committing('after', { depends_on: ['long'] }),
    ]),
    { repository },
  );
  await world().until('headless/long', (t) => t.attemptState === 'running');
  await world().until('headless/eater', (t) => t.attemptState === 'running');
  await world().helper!.kill();
  await world().helper!.start();

  const result = await running;
  expect(await world().outcomes('headless'), result.stderr).toEqual({ long: 'ok', eater: 'oom_killed', after: 'ok' });
});
