import { expect, test } from 'vitest';
import { useWorld } from '../support/use-world.ts';
import type { World } from '../support/world.ts';

const world = useWorld();

/** Spawns a command and waits for it by the reference that spawn printed. */
async function spawned(w: World, cwd: string, ...args: string[]): Promise<string> {
  const { tasks } = await w.json<{ tasks: { ref: string }[] }>(cwd, ['spawn', ...args]);
  return tasks[0]!.ref;
}

test('spawn runs one command in any repository without a plan, and wait tells how it ended', async () => {
  const repository = await world().repository();
  const { tasks } = await world()
    .json<{ tasks: { ref: string }[] }>(repository.path, ['spawn', '--json', '--', 'sh', '-c', 'pwd > where.txt'])
    .catch(() => ({ tasks: [] as { ref: string }[] }));
  const ref = tasks[0]?.ref ?? (await spawned(world(), repository.path, '--', 'sh', '-c', 'pwd > where.txt'));
  const waited = await world().drover(repository.path, ['wait', ref]);
  expect(waited.exitCode).toBe(0);

  const task = await world().task(ref);
  expect(task.outcome).toBe('ok');
  expect(task.plan).toBe('solo');
  expect(await repository.show(task.branch!, 'where.txt')).toBe(task.history[0]!.worktree);
});

test('wait fails with the exit code of a failed task', async () => {
  const [repository] = world().repositories;
  const before = new Set((await world().tasks()).keys());
  await world().drover(repository!.path, ['spawn', '--', 'sh', '-c', 'exit 5']);
  const ref = [...(await world().tasks()).keys()].find((name) => !before.has(name))!;
  const waited = await world().drover(repository!.path, ['wait', ref]);
  expect(waited.exitCode).not.toBe(0);
  expect((await world().task(ref)).reason).toContain('5');
});

test('outside a repository it says so and what to do', async () => {
  const result = await world().drover(world().home, ['spawn', '--', 'true']);
  expect(result.exitCode).not.toBe(0);
  expect(result.stderr).toMatch(/git repository/i);
});
