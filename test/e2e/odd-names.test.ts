import { expect, test } from 'vitest';
import { differences, fingerprint } from '../support/fingerprint.ts';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();
const FILES = [
  'naïve ☃ file.txt',
  '日本語/ファイル.txt',
  'quote\'s "double".txt',
  '-leading-dash',
  ' leading space',
  'a:b,c=d.txt',
  'tab\there',
];

test('a repository path with spaces and signs, files of any name, and tasks of any legal name', async () => {
  const content = Object.fromEntries(FILES.map((name) => [name, `content of ${name}\n`]));
  const repository = await world().repository({ at: "home/my projects/it's, a:repo ü", content });
  const before = fingerprint(repository.path);
  const script = "git ls-files -z | xargs -0 -n1 sh -c 'printf more >> \"./$1\"' sh; printf new > 'neu ✓ ü.txt'";
  const result = await world().run(
    plan('Plan.With_signs-1', [task('Task.1_a-b', script), task('0', 'echo 0 > zero', { depends_on: ['Task.1_a-b'] })]),
    { repository },
  );

  expect(await world().outcomes('Plan.With_signs-1'), result.stdout).toEqual({ 'Task.1_a-b': 'ok', 0: 'ok' });
  for (const name of FILES) {
    expect(await repository.show('drover/Plan.With_signs-1/0', name)).toBe(`content of ${name}\nmore`);
  }
  expect(await repository.show('drover/Plan.With_signs-1/0', 'neu ✓ ü.txt')).toBe('new');
  expect(differences(before, fingerprint(repository.path))).toEqual([]);
});
