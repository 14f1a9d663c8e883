import { beforeAll, describe, expect, test } from 'vitest';
import { differences, type Fingerprint, fingerprint } from '../support/fingerprint.ts';
import { committing, plan, task } from '../support/plans.ts';
import type { Repository } from '../support/repository.ts';
import { useWorld } from '../support/use-world.ts';
import type { CommandResult } from '../support/world.ts';

const world = useWorld();
const LEAVES = Array.from({ length: 8 }, (_, n) => `leaf-${n}`);
const JOINS = ['join-0', 'join-1', 'join-2', 'join-3'];

/** Eight that can start at once, four that join two each, one that joins all, and others that end in their own ways. */
const twenty = plan('twenty', [
  ...LEAVES.map((id) => committing(id)),
  ...JOINS.map((id, n) => committing(id, { depends_on: [`leaf-${2 * n}`, `leaf-${2 * n + 1}`], priority: 'high' })),
  committing('summit', { depends_on: JOINS, verify: ['sh', '-c', 'test -f made-by-leaf-7.txt'] }),
  task('codemod', "sed -i 's/^file/FILE/' dir-*/*.txt", { priority: 'low' }),
  task('count', 'test "$(git ls-files | wc -l)" -ge 3000', { expects: 'none' }),
  task('fails', 'echo on purpose >&2; exit 3', { expects: 'changes' }),
  committing('after-fails', { depends_on: ['fails'] }),
  committing('after-after-fails', { depends_on: 'after-fails' }),
  task('idle-hands', 'true'),
  committing('unproven', { verify: ['false'] }),
]);

describe('a plan of twenty tasks on three thousand files', () => {
  let repository: Repository;
  let before: Fingerprint;
  let result: CommandResult;

  beforeAll(async () => {
    repository = await world().repository({ files: 3_200 });
    await repository.makeLivedIn();
    before = fingerprint(repository.path);
    result = await world().run(twenty, { repository });
  }, 240_000);

  test('ends with the right outcome for every task', async () => {
    const good = [...LEAVES, ...JOINS, 'summit', 'codemod', 'count'].map((id) => [id, 'ok']);
    expect(await world().outcomes('twenty')).toEqual({
      ...Object.fromEntries(good),
      fails: 'agent_error',
      'after-fails': 'blocked',
      'after-after-fails': 'blocked',
      'idle-hands': 'no_changes',
      unproven: 'verify_failed',
    });
    expect(result.exitCode, result.stderr).toBe(1);
  });

  test('leaves one branch for every task that succeeded', async () => {
    const made = [...LEAVES, ...JOINS, 'summit', 'codemod', 'count'].map((id) => `drover/twenty/${id}`);
    expect(await repository.branches()).toEqual(made.sort());
  });

  test('carries all dependencies to the last task', async () => {
    const files = await repository.git('ls-tree', '--name-only', 'drover/twenty/summit');
    for (const id of [...LEAVES, ...JOINS, 'summit']) expect(files).toContain(`made-by-${id}.txt`);
  });

  test('commits what an agent left uncommitted', async () => {
    expect(await repository.git('diff', '--shortstat', 'main', 'drover/twenty/codemod')).toContain(
      '3200 files changed',
    );
  });

  test('touches nothing of the user’s but for the new branches', () => {
    expect(differences(before, fingerprint(repository.path))).toEqual([]);
  });

  test('leaves a repository that git finds sound', async () => {
    await repository.git('fsck', '--strict', '--no-dangling');
    expect(await repository.worktrees()).toEqual([repository.path]);
  });
});
