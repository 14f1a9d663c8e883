import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CliWorld } from '../testing/cli-world.ts';

let world: CliWorld;
beforeEach(async () => {
  world = new CliWorld();
  await world.serve();
  writeFileSync(join(world.dir, 'demo.yaml'), 'tasks: []\n');
});
afterEach(() => world.dispose());

const start = (ref: string) => {
  const running = { state: 'active', attemptState: 'running', startedMs: Date.now(), elapsedMs: 1000 } as const;
  world.engine.put(ref, { ...running, memoryBytes: 5e7, activity: 'thinks' });
  world.engine.emit('attempt_running', ref, 'runs');
};
const end = (ref: string, outcome: 'ok' | 'verify_failed' = 'ok') => {
  const branch = `drover/${ref}`;
  const reason = outcome === 'ok' ? 'Done.' : 'npm test failed with 1.';
  world.engine.put(ref, {
    state: 'ended',
    attemptState: null,
    outcome,
    reason,
    startedMs: 1,
    elapsedMs: 61_000,
    cpuMs: 5000,
    memoryPeakBytes: 2e8,
    commits: 2,
    branch,
  });
  world.engine.emit('task_ended', ref, `ended: ${outcome}`);
};
const twoTasks = () => {
  world.engine.onSubmit = () => {
    world.engine.put('demo/a');
    world.engine.put('demo/b');
    world.engine.emit('task_queued', 'demo/a', 'waits');
  };
};

test('run in a pipe: level first, a line an event, the final table, exit 0', async () => {
  twoTasks();
  const run = world.start(['run', 'demo.yaml']);
  await run.until('demo/a  waits');
  start('demo/a');
  end('demo/a');
  end('demo/b');
  const { code, stdout, stderr } = await run.result;
  const lines = stdout.trimEnd().split('\n');
  expect(code).toBe(0);
  expect(stderr).toBe('');
  expect(lines[0]).toBe("enhanced: the helper answers. The network is the host's.");
  expect(lines[1]).toBe('demo: 2 tasks, from aaaaaaaaaa');
  expect(lines).toContainEqual(expect.stringMatching(/^\d\d:\d\d:\d\d {2}demo\/a {2}runs$/));
  expect(lines).toContainEqual(expect.stringContaining('demo/b  ended: ok'));
  expect(stdout).toMatch(/TASK +OUTCOME +TIME +PEAK MEM +CPU +COMMITS +BRANCH/);
  expect(lines.at(-1)).toMatch(/^demo\/b +ok +1m01s +190\.7 MB +5\.0s +2 +drover\/demo\/b$/);
  expect(stdout).not.toContain('\u001b');
});

test('a task without success: exit 1, why, and what to do', async () => {
  twoTasks();
  const run = world.start(['run', 'demo.yaml']);
  await run.until('demo/a  waits');
  end('demo/a', 'verify_failed');
  world.engine.put('demo/b', { state: 'blocked', reason: 'demo/a did not succeed.' });
  world.engine.emit('task_blocked', 'demo/b', 'is blocked');
  const { code, stdout } = await run.result;
  expect(code).toBe(1);
  expect(stdout).toContain('demo/a: npm test failed with 1.');
  expect(stdout).toContain('drover logs demo/a --verify');
  expect(stdout).toContain('demo/b: demo/a did not succeed.');
});

test('run --json is one JSON value a line', async () => {
  twoTasks();
  const run = world.start(['run', 'demo.yaml', '--json']);
  await run.until('waits');
  end('demo/a');
  end('demo/b');
  const { code, stdout, stderr } = await run.result;
  const values = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect([code, stderr]).toEqual([0, '']);
  expect(values[0].submitted.plan).toBe('demo');
  expect(values[1].event.text).toBe('waits');
  expect(values.at(-1).result).toMatchObject({ ok: true, tasks: [{ ref: 'demo/a' }, { ref: 'demo/b' }] });
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s leaves: exit 130, agents go on, how to find them', async (signal) => {
  twoTasks();
  const run = world.start(['run', 'demo.yaml']);
  await run.until('demo/a  waits');
  run.child.kill(signal);
  const { code, stderr } = await run.result;
  expect(code).toBe(130);
  expect(stderr).toContain('Agents go on.');
  expect(stderr).toContain('drover wait demo/');
  expect(stderr).toContain('drover stop demo/');
  expect(world.engine.calls.map(([name]) => name)).toEqual(['submitPlan']);
});

test('on a terminal the table is redrawn in place and ends as the final one', async () => {
  twoTasks();
  const run = world.terminal(['run', 'demo.yaml'], { cols: 78, rows: 20 });
  await run.until(/demo\/b .*queued/);
  start('demo/a');
  await run.until(/demo\/a .*running .*thinks/);
  const headers = () => run.lines().filter((line) => /^TASK /.test(line)).length;
  expect(headers()).toBe(1);
  world.engine.emit('warning', 'demo/a', 'memory is short');
  await run.until('warning: memory is short');
  expect(headers()).toBe(1);
  end('demo/a');
  end('demo/b');
  expect(await run.exit).toBe(0);
  expect(headers()).toBe(1);
  expect(run.lines().at(-1)).toMatch(/^demo\/b +ok +1m01s/);
  expect(Math.max(...run.lines().map((line) => line.length))).toBeLessThanOrEqual(78);
  // The cursor is given back, the screen was never cleared as a whole.
  expect(run.raw.lastIndexOf('\u001b[?25h')).toBeGreaterThan(run.raw.lastIndexOf('\u001b[?25l'));
  expect(run.raw).not.toContain('\u001b[2J');
});

test('more tasks than the terminal has lines: those under way are shown, all are counted', async () => {
  world.engine.onSubmit = () => {
    for (let n = 0; n < 40; n++) world.engine.put(`demo/task-${n}`);
    start('demo/task-39');
  };
  const run = world.terminal(['run', 'demo.yaml'], { cols: 80, rows: 12 });
  await run.until(/0 of 40 done, 1 active/);
  expect(run.lines().some((line) => line.startsWith('demo/task-39'))).toBe(true);
  expect(run.lines().length).toBeLessThanOrEqual(12);
  run.type('\u0003');
  expect(await run.exit).toBe(130);
  expect(run.lines().join('\n')).toContain('Agents go on.');
  expect(run.lines().filter((line) => /^TASK /.test(line)).length).toBe(0);
});

test('wait: all that is open, exit by outcome', async () => {
  world.engine.put('demo/a');
  world.engine.put('other/b');
  world.engine.put('old/c', { state: 'ended', outcome: 'verify_failed' });
  world.engine.emit('task_queued', 'demo/a', 'long ago');
  const wait = world.start(['wait']);
  await world.engine.whenFollowed();
  start('demo/a');
  await wait.until('demo/a  runs');
  end('demo/a');
  end('other/b', 'verify_failed');
  const { code, stdout } = await wait.result;
  expect(code).toBe(1);
  expect(stdout).not.toContain('long ago');
  expect(stdout).not.toContain('old/c');
});

test('wait --any ends with the first; --timeout gives up', async () => {
  world.engine.put('demo/a');
  world.engine.put('demo/b');
  const any = world.start(['wait', 'demo/', '--any', '--json']);
  await world.engine.whenFollowed();
  end('demo/b');
  expect(JSON.parse((await any.result).stdout)).toMatchObject({ ok: true, tasks: [{ ref: 'demo/b' }] });
  const timed = await world.run(['wait', 'demo/a', '--timeout', '300ms', '--json']);
  expect(timed.code).toBe(1);
  expect(JSON.parse(timed.stderr).error.code).toBe('wait_timeout');
});

test('an engine that is shut down under a run: exit 3, agents go on', async () => {
  twoTasks();
  const run = world.start(['run', 'demo.yaml']);
  await run.until('demo/a  waits');
  await world.run(['down', '--force']);
  const { code, stderr } = await run.result;
  expect(code).toBe(3);
  expect(stderr).toContain('Agents go on');
});

test('a plan whose tasks are all done already ends at once', async () => {
  world.engine.put('demo/a', { state: 'ended', outcome: 'ok' });
  const { code, stdout } = await world.run(['run', 'demo.yaml']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/demo\/a +ok/);
});
