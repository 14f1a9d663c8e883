import { expect, test } from 'vitest';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test.each(['SIGINT', 'SIGKILL'] as const)('%s to the command that follows a plan stops no agent', async (signal) => {
  const repository = await world().repository();
  const name = `left-by-${signal.toLowerCase()}`;
  const file = world().writePlan(
    plan(name, [task('one', 'sleep 2; echo 1 > one.txt'), committing('two', { depends_on: ['one'] })]),
    name,
  );
  const following = world().start(repository.path, ['run', file]);
  await world().until(`${name}/one`, (t) => t.attemptState === 'running');
  following.kill(signal);
  const { exitCode } = await following;
  if (signal === 'SIGINT') expect(exitCode).toBe(130);

  const waited = await world().drover(repository.path, ['wait', `${name}/`]);
  expect(waited.exitCode, waited.stderr).toBe(0);
  expect(await world().outcomes(name)).toEqual({ one: 'ok', two: 'ok' });
});
