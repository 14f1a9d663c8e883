import { expect, test } from 'vitest';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();
const LINES = 2_000;

test('logs shows every byte an agent wrote, in order, while it runs and after', async () => {
  const repository = await world().repository();
  const script = `i=0; while [ $i -lt ${LINES} ]; do echo "line $i"; i=$((i + 1)); done; sleep 2; echo 'last: é ✓'`;
  const running = world().run(plan('talk', [task('talker', script, { expects: 'none' })]), { repository });
  await world().until('talk/talker', (t) => t.attemptState === 'running');
  const followed = world().drover(repository.path, ['logs', '-f', 'talk/talker']);
  await running;

  const expected = [...Array.from({ length: LINES }, (_, n) => `line ${n}`), 'last: é ✓'];
  expect((await followed).stdout.split('\n')).toEqual(expected);
  const after = await world().drover(repository.path, ['logs', 'talk/talker']);
  expect(after.stdout.split('\n')).toEqual(expected);
});
