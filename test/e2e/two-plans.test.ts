import { expect, test } from 'vitest';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('two plans in two repositories run at once in one engine, with tasks of the same names', async () => {
  const [left, right] = [await world().repository(), await world().repository()];
  const tasks = (word: string) => [
    task('say', `sleep 1; echo ${word} > said.txt`),
    committing('after', { depends_on: ['say'] }),
  ];
  world().writePlan(plan('left', tasks('left')), 'left');
  const rightFile = world().writePlan(plan('right', tasks('right')), 'right');
  const leftFile = world().writePlan(plan('left', tasks('left')), 'left');
  const results = await Promise.all([
    world().drover(left!.path, ['run', leftFile]),
    world().drover(right!.path, ['run', rightFile]),
  ]);

  expect(results.map((result) => result.exitCode)).toEqual([0, 0]);
  expect(await left!.show('drover/left/after', 'said.txt')).toBe('left');
  expect(await right!.show('drover/right/after', 'said.txt')).toBe('right');
  expect(await left!.branches()).toEqual(['drover/left/after', 'drover/left/say']);
});

test('two plans in one repository, too', async () => {
  const [repository] = world().repositories;
  const files = ['one', 'two'].map((name) =>
    world().writePlan(plan(name, [committing(`of-${name}`), committing('same')]), name),
  );
  const results = await Promise.all(files.map((file) => world().drover(repository!.path, ['run', file])));
  expect(results.map((result) => result.exitCode)).toEqual([0, 0]);
  expect(await repository!.branches('drover/one')).toEqual(['drover/one/of-one', 'drover/one/same']);
  expect(await repository!.branches('drover/two')).toEqual(['drover/two/of-two', 'drover/two/same']);
});
