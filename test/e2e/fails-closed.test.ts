import { expect, test } from 'vitest';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('whatever depends on a failure, at any distance, is blocked with the reason, and nothing of it starts', async () => {
  const repository = await world().repository();
  const result = await world().run(
    plan('closed', [
      task('fails', 'echo broken; exit 4'),
      committing('child', { depends_on: ['fails'] }),
      committing('grandchild', { depends_on: ['child', 'well'] }),
      committing('well'),
    ]),
    { repository },
  );

  expect(result.exitCode, result.stderr).toBe(1);
  expect(await world().outcomes('closed')).toEqual({
    fails: 'agent_error',
    child: 'blocked',
    grandchild: 'blocked',
    well: 'ok',
  });
  expect((await world().task('closed/child')).reason).toContain('fails');
  expect((await world().task('closed/grandchild')).attempts).toBe(0);
  expect(await repository.branches()).toEqual(['drover/closed/well']);
});
