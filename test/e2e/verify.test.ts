import { expect, test } from 'vitest';
import { committing, plan } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('a result that does not pass its verify command is no result, and the log says what verify said', async () => {
  const repository = await world().repository();
  await world().run(
    plan('proof', [
      committing('good', { verify: ['sh', '-c', 'grep -q good made-by-good.txt'] }),
      committing('bad', { verify: ['sh', '-c', 'echo not good enough; exit 1'] }),
      committing('after-bad', { depends_on: ['bad'] }),
    ]),
    { repository },
  );

  expect(await world().outcomes('proof')).toEqual({ good: 'ok', bad: 'verify_failed', 'after-bad': 'blocked' });
  expect(await repository.branches()).toEqual(['drover/proof/good']);
  const logs = await world().drover(repository.path, ['logs', 'proof/bad', '--verify']);
  expect(logs.stdout).toContain('not good enough');
});

test('work that failed its verify is not lost: it stands as the attempt’s ref', async () => {
  const [repository] = world().repositories;
  expect(await repository!.show('refs/drover/attempts/proof/bad/1', 'made-by-bad.txt')).toBe('bad');
});
