import { expect, test } from 'vitest';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

const world = useWorld();

const MOST = 400;

/**
 * Every process forks as fast as it can, as a bomb does; but over all of them never more than MOST at a time and for half a
 * minute at most: where the limit failed, the machine that runs the test would have to bear it.
 */
const BOMB = `
  import mmap, os, signal, time
  alive = memoryview(mmap.mmap(-1, 8)).cast("q")
  end = time.monotonic() + 30
  signal.signal(signal.SIGCHLD, signal.SIG_IGN)
  while time.monotonic() < end:
      if alive[0] < ${MOST}:
          try:
              if os.fork() == 0: alive[0] += 1
          except OSError: pass
      time.sleep(0.005)
`.replace(/^ {2}/gm, '');

test.runIf(isRoot)('a fork bomb ends as pids_exhausted, and no other task notices', async () => {
  const repository = await world().repository({ content: { 'bomb.py': BOMB } });
  const started = performance.now();
  await world().run(
    plan('bombs', [
      task('bomb', 'exec python3 bomb.py', { limits: { pids: 64 }, timeout: '60s' }),
      committing('bystander'),
    ]),
    { repository },
  );

  expect(await world().outcomes('bombs')).toEqual({ bomb: 'pids_exhausted', bystander: 'ok' });
  expect(performance.now() - started).toBeLessThan(60_000);
});

test.runIf(isRoot)('one refused fork is a warning, not an outcome', async () => {
  const repository = await world().repository();
  const script = '(for i in $(seq 40); do sleep 0.4 & done; wait) 2>/dev/null || true; echo done > done.txt';
  await world().run(plan('brief', [task('brief', script, { limits: { pids: 24 } })]), { repository });
  expect((await world().task('brief/brief')).outcome).toBe('ok');
});
