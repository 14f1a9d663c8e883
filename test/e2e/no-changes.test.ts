import { expect, test } from 'vitest';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('success without a change is no_changes, unless none is expected', async () => {
  const repository = await world().repository({ content: { '.gitignore': 'out/\n' } });
  await world().run(
    plan('still', [
      task('nothing', 'true'),
      task('ignored-only', 'mkdir out; echo x > out/x'),
      task('undone', 'echo x > x.txt; git add -A; git commit -qm x; git reset -q --hard HEAD~1'),
      task('review', 'cat dir-000/*.txt', { expects: 'none' }),
    ]),
    { repository },
  );

  expect(await world().outcomes('still')).toEqual({
    nothing: 'no_changes',
    'ignored-only': 'no_changes',
    undone: 'no_changes',
    review: 'ok',
  });
  // A result without commits is one, too: others may depend on it.
  expect(await repository.branches()).toEqual(['drover/still/review']);
  expect(await repository.git('rev-parse', 'drover/still/review')).toBe(await repository.git('rev-parse', 'main'));
});
