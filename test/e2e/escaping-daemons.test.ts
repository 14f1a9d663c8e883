import { expect, test } from 'vitest';
import { plan, task } from '../support/plans.ts';
import { processes } from '../support/proc.ts';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();
const left = () => processes().filter((p) => p.command.includes('sleep 4321') && p.state !== 'Z');

test('daemons that an agent left behind do not outlive its attempt, nor hold it up', async () => {
  const repository = await world().repository();
  const script = `for i in 1 2 3 4 5; do (setsid sh -c "trap '' TERM HUP; sleep 4321" >/dev/null 2>&1 &); done; echo x > x.txt`;
  const started = performance.now();
  await world().run(plan('escape', [task('daemons', script)]), { repository });

  expect((await world().task('escape/daemons')).outcome).toMatch(/^ok/);
  expect(left()).toEqual([]);
  expect(performance.now() - started).toBeLessThan(30_000);
});
