import { expect, test } from 'vitest';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

const world = useWorld();

/** The classic. A shell that cannot fork waits and tries again, so it does not burn out by itself. */
const BOMB = "bash -c ':(){ :|:& };:; sleep 30'";

test.runIf(isRoot)('a fork bomb ends as pids_exhausted, and no other task notices', async () => {
  const repository = await world().repository();
  const started = performance.now();
  await world().run(
    plan('bombs', [task('bomb', BOMB, { limits: { pids: 64 }, timeout: '60s' }), committing('bystander')]),
    { repository },
  );

  expect(await world().outcomes('bombs')).toEqual({ bomb: 'pids_exhausted', bystander: 'ok' });
  expect(performance.now() - started).toBeLessThan(60_000);
});

test.runIf(isRoot)('one refused fork is a warning, not an outcome', async () => {
  const repository = await world().repository();
  const script = '(for i in $(seq 40); do sleep 0.4 & done; wait) 2>/dev/null || true; echo done > done.txt';
  await world().run(plan('brief', [task('brief', script, { limits: { pids: 24 } })]), { repository });
  expect((await world().task('brief/brief')).outcome).toBe('ok');
});
