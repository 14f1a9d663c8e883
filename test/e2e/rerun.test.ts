import { expect, test } from 'vitest';
import { committing, plan } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('a second run skips what is ok and unchanged, does what changed and what follows from it; --fresh does all anew', async () => {
  const repository = await world().repository();
  const first = plan('again', [committing('a'), committing('b', { depends_on: ['a'] }), committing('c')]);
  await world().run(first, { repository });
  const b = await repository.git('rev-parse', 'drover/again/b');

  const unchanged = await world().run(first, { repository });
  expect(unchanged.exitCode, unchanged.stderr).toBe(0);
  expect(await repository.git('rev-parse', 'drover/again/b')).toBe(b);
  for (const id of ['a', 'b', 'c']) expect((await world().task(`again/${id}`)).attempts).toBe(1);

  const fresh = await world().run(first, { repository, flags: ['--fresh'] });
  expect(fresh.exitCode, fresh.stderr).toBe(0);
  expect(await repository.branches('drover/again-2')).toEqual(['a', 'b', 'c'].map((id) => `drover/again-2/${id}`));
  expect(await repository.git('rev-parse', 'drover/again/b')).toBe(b);
});
