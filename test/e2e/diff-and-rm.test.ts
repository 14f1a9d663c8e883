import { expect, test } from 'vitest';
import { committing, plan } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('diff shows what a task changed', async () => {
  const repository = await world().repository();
  await world().run(plan('small', [committing('one'), committing('two')]), { repository });
  const diff = await world().drover(repository.path, ['diff', 'small/one']);
  expect(diff.exitCode).toBe(0);
  expect(diff.stdout).toMatch(/^\+one$/m);
  expect(diff.stdout).toContain('made-by-one.txt');
  expect(diff.stdout).not.toContain('made-by-two.txt');
  // As `git apply` needs it.
  const { text } = await world().json<{ text: string }>(repository.path, ['diff', 'small/one']);
  expect(text).toMatch(/\+one\n$/);
});

test('rm refuses a result that is merged nowhere, and keeps its commits when told to go on', async () => {
  const [repository] = world().repositories;
  const commit = await repository!.git('rev-parse', 'drover/small/one');
  const refused = await world().drover(repository!.path, ['rm', 'small/one']);
  expect(refused.exitCode).not.toBe(0);
  expect(await repository!.branches()).toContain('drover/small/one');

  const removed = await world().drover(repository!.path, ['rm', '--unmerged', 'small/one']);
  expect(removed.exitCode, removed.stderr).toBe(0);
  expect(await repository!.branches()).toEqual(['drover/small/two']);
  expect(await repository!.git('for-each-ref', '--contains', commit, 'refs/drover/snapshots/')).not.toBe('');
});

test('rm takes a merged result without asking', async () => {
  const [repository] = world().repositories;
  await repository!.git('merge', '-q', '--no-edit', 'drover/small/two');
  const removed = await world().drover(repository!.path, ['rm', 'small/two']);
  expect(removed.exitCode, removed.stderr).toBe(0);
  expect(await repository!.branches()).toEqual([]);
});
