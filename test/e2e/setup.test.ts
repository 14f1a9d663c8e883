import { expect, test } from 'vitest';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

test('setup runs in the sandbox before the agent; where it fails no agent starts, and its output is kept', async () => {
  const repository = await world().repository({ content: { '.gitignore': 'prepared\n' } });
  await world().run(
    plan('ready', [
      task('prepared', 'cat prepared > seen.txt', { setup: ['echo by setup > prepared'] }),
      task('unready', 'echo never > never.txt', { setup: ['echo cannot prepare; exit 7', 'true'], max_attempts: 1 }),
    ]),
    { repository },
  );

  expect(await world().outcomes('ready')).toEqual({ prepared: 'ok', unready: 'setup_failed' });
  expect(await repository.show('drover/ready/prepared', 'seen.txt')).toBe('by setup');
  const logs = await world().drover(repository.path, ['logs', 'ready/unready', '--setup']);
  expect(logs.stdout).toContain('cannot prepare');
});
