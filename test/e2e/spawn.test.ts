import { expect, test } from 'vitest';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

/** Spawns a command in the background; gives its reference. */
async function spawned(cwd: string, ...command: string[]): Promise<string> {
  const { tasks } = await world().json<{ tasks: { ref: string }[] }>(cwd, ['spawn', '-d', '--json', '--', ...command]);
  return tasks[0]!.ref;
}

test('spawn runs one command in any repository without a plan, and wait tells how it ended', async () => {
  const repository = await world().repository();
  const ref = await spawned(repository.path, 'sh', '-c', 'pwd > where.txt');
  const waited = await world().drover(repository.path, ['wait', ref]);
  expect(waited.exitCode, waited.stderr).toBe(0);

  const task = await world().task(ref);
  expect(task.outcome).toBe('ok');
  expect(task.plan).toBe('solo');
  expect(await repository.show(task.branch!, 'where.txt')).toBe(task.history[0]!.worktree);
});

test('wait fails where the task failed, and status says with what', async () => {
  const [repository] = world().repositories;
  const ref = await spawned(repository!.path, 'sh', '-c', 'exit 5');
  expect((await world().drover(repository!.path, ['wait', ref])).exitCode).toBe(1);
  expect((await world().task(ref)).outcome).toBe('agent_error');
  expect((await world().task(ref)).reason).toContain('5');
});

test('in the foreground it follows the task, from any directory of the repository', async () => {
  const [repository] = world().repositories;
  const args = ['spawn', '--id', 'followed', '--', 'sh', '-c', 'echo x > x.txt'];
  const result = await world().drover(`${repository!.path}/dir-000`, args);
  expect(result.exitCode, result.stderr).toBe(0);
  expect(result.stdout).toContain('drover/solo/followed');
});

test('a command that is not there says so', async () => {
  const [repository] = world().repositories;
  const result = await world().drover(repository!.path, ['spawn', '--id', 'missing', '--', 'no-such-command-anywhere']);
  expect(result.exitCode).not.toBe(0);
  expect(`${result.stdout}${result.stderr}`).toContain('no-such-command-anywhere');
});

test('outside a repository it says so', async () => {
  const result = await world().drover(world().home, ['spawn', '--', 'true']);
  expect(result.exitCode).toBe(4);
  expect(result.stderr).toMatch(/git repository/i);
});
