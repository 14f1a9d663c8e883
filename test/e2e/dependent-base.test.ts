import { expect, test } from 'vitest';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('a dependent starts from the merge of its dependencies’ results, in the order named', async () => {
  const repository = await world().repository();
  await world().run(
    plan('chain', [
      task('a', 'echo a > a.txt'),
      task('b', 'echo b > b.txt; git add -A; git commit -qm b1; echo b2 >> b.txt; git commit -qam b2'),
      task('both', 'cat a.txt b.txt > both.txt', { depends_on: ['a', 'b'] }),
      task('one', 'test ! -e b.txt; cat a.txt > one.txt', { depends_on: 'a' }),
      task('last', 'cat both.txt one.txt > last.txt', { depends_on: ['both', 'one'] }),
    ]),
    { repository },
  );

  expect(await world().outcomes('chain')).toEqual({ a: 'ok', b: 'ok', both: 'ok', one: 'ok', last: 'ok' });
  expect(await repository.show('drover/chain/last', 'last.txt')).toBe('a\nb\nb2\na');
  await repository.git('merge-base', '--is-ancestor', 'drover/chain/a', 'drover/chain/both');
  await repository.git('merge-base', '--is-ancestor', 'drover/chain/b', 'drover/chain/both');
  expect((await world().task('chain/b')).commits).toBe(2);
});

test('results that cannot be merged without a person end as merge_conflict', async () => {
  const repository = await world().repository();
  await world().run(
    plan('clash', [
      task('left', 'echo left > dir-000/file-0000.txt'),
      task('right', 'echo right > dir-000/file-0000.txt'),
      task('joined', 'true', { depends_on: ['left', 'right'], expects: 'none' }),
    ]),
    { repository },
  );
  const joined = await world().task('clash/joined');
  expect(joined.outcome).toBe('merge_conflict');
  expect(joined.reason).toContain('dir-000/file-0000.txt');
});
