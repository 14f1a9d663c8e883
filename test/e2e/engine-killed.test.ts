import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { differences, fingerprint } from '../support/fingerprint.ts';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

/** Writes its own process id, so that another run of it would show. */
const slow = (id: string, seconds: number) =>
  task(
    id,
    `echo $$ >> starts-${id}.txt; sleep ${seconds}; echo end >> starts-${id}.txt; git add -A; git commit -qm '${id}'`,
  );

test('kill -9 of the engine in the middle of a plan: agents go on, and the plan ends with the right outcomes', async () => {
  const repository = await world().repository({ files: 200 });
  const before = fingerprint(repository.path);
  const running = world().run(
    plan('survivor', [
      slow('long', 6),
      slow('longer', 8),
      committing('early'),
      committing('late', { depends_on: ['long', 'early'] }),
      task('fails', 'sleep 5; exit 9'),
      committing('never', { depends_on: ['fails'] }),
    ]),
    { repository },
  );
  await world().until('survivor/early', (t) => t.state === 'ended');
  await world().until('survivor/long', (t) => t.attemptState === 'running');
  const killed = await world().killEngine();

  const result = await running;
  expect(await world().outcomes('survivor'), result.stderr).toEqual({
    long: 'ok',
    longer: 'ok',
    early: 'ok',
    late: 'ok',
    fails: 'agent_error',
    never: 'blocked',
  });
  expect(world().enginePid()).not.toBe(killed);
  const starts = await repository.show('drover/survivor/long', 'starts-long.txt');
  expect(starts.split('\n')).toHaveLength(2);
  for (const id of ['long', 'longer', 'fails']) expect((await world().task(`survivor/${id}`)).attempts).toBe(1);
  expect(differences(before, fingerprint(repository.path))).toEqual([]);
});

test('what ended while no engine ran is found and settled by the next one', async () => {
  const repository = await world().repository();
  const ref = 'solo/unattended';
  const script = 'sleep 3; echo late > late.txt';
  await world().drover(repository.path, ['spawn', '-d', '--id', 'unattended', '--', 'sh', '-c', script]);
  const running = await world().until(ref, (t) => t.attemptState === 'running');
  expect(running.outcome).toBeNull();
  await world().killSupervisorAndEngine();

  const [attempt] = readdirSync(join(world().stateDir, 'attempts')).slice(-1);
  const record = join(world().stateDir, 'attempts', attempt!, 'exit');
  await expect.poll(() => existsSync(record), { timeout: 20_000 }).toBe(true);
  expect(world().enginePid()).toBeUndefined();

  await world().drover(world().home, ['up']);
  const task = await world().until(ref, (t) => t.state === 'ended');
  expect(task.outcome).toBe('ok');
  expect(await repository.show(task.branch!, 'late.txt')).toBe('late');
});
