import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DroverError } from '../../core/src/api/index.ts';
import { CliWorld } from '../testing/cli-world.ts';
import { COMMANDS } from './commands/index.ts';

let world: CliWorld;
beforeEach(async () => {
  world = new CliWorld();
  await world.serve();
});
afterEach(() => world.dispose());

const planFile = () => {
  const path = join(world.dir, 'demo.yaml');
  writeFileSync(path, 'tasks: []\n');
  return path;
};
const error = (stderr: string) => JSON.parse(stderr).error as { code: string; message: string; hint: string };

describe('help', () => {
  test('lists every command and the exit codes', async () => {
    const { code, stdout, stderr } = await world.run(['--help']);
    expect(code).toBe(0);
    expect(stderr).toBe('');
    for (const { name } of COMMANDS) expect(stdout).toContain(name.split(' ')[0]);
    expect(stdout).toContain('130 ');
  });

  test.each(COMMANDS.map(({ name }) => name))('%s --help has examples', async (name) => {
    const { code, stdout } = await world.run([...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('Examples:');
  });
});

test.each([
  [[], /drover \[options\] \[command\][\s\S]*doctor/],
  [['plan'], /drover plan \[options\] \[command\][\s\S]*validate/],
])('%j without a command: help on standard error, exit 2', async (args, says) => {
  const { code, stdout, stderr } = await world.run(args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(says);
  expect(error((await world.run([...args, '--json'])).stderr)).toMatchObject({ message: 'no command was given' });
});

describe('usage errors exit 2', () => {
  test.each([
    [['frobnicate'], /unknown command/],
    [['run'], /missing required argument/],
    [['ls', '--nonsense'], /unknown option/],
    [['spawn'], /no prompt/],
    [['spawn', 'two', 'words'], /one argument/],
    [['spawn', 'prompt', '--', 'true'], /not both/],
    [['spawn', '--limit', 'memory', '--', 'true'], /KEY=VALUE/],
    [['run', 'x.yaml', '--level', 'fulll'], /basic, enhanced, full/],
    [['run', 'x.yaml', '--max-parallel', '0'], /whole number/],
    [['wait', '--timeout', 'soon'], /30s/],
    [['logs', 'x', '--raw', '--json'], /do not go together/],
    [['run', 'does-not-exist.yaml'], /does-not-exist/],
  ])('%j', async (args, says) => {
    const { code, stdout, stderr } = await world.run(args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(says);
  });

  test('as JSON too', async () => {
    const { code, stderr } = await world.run(['frobnicate', '--json']);
    expect(code).toBe(2);
    expect(error(stderr)).toMatchObject({ code: 'usage' });
  });
});

test('without an engine: exit 3 and what to do', async () => {
  const { code, stderr, stdout } = await world.run(['status', '--json'], { DROVER_STATE_DIR: join(world.dir, 'none') });
  expect([code, stdout]).toEqual([3, '']);
  expect(error(stderr)).toMatchObject({ code: 'engine_unreachable', hint: expect.stringContaining('drover up') });
});

test('an unknown task: exit 4', async () => {
  for (const args of [
    ['status', 'nobody'],
    ['stop', 'x/y'],
    ['wait', 'nobody'],
    ['ls', 'none/'],
    ['diff', 'nobody'],
  ]) {
    const { code, stderr } = await world.run([...args, '--json']);
    expect([args[0], code]).toEqual([args[0], 4]);
    expect(error(stderr).code).toMatch(/^no_such_/);
  }
});

test('what the engine refuses: exit 5', async () => {
  world.engine.put('demo/a', { state: 'active' });
  expect((await world.run(['down'])).code).toBe(5);
  world.engine.remove = async () => {
    throw new DroverError('unmerged', 'demo/a is merged nowhere.', 'drover rm --unmerged demo/a');
  };
  const { code, stderr } = await world.run(['rm', 'demo/a']);
  expect(code).toBe(5);
  expect(stderr).toBe('drover: demo/a is merged nowhere.\n  drover rm --unmerged demo/a\n');
});

test('the places of a bad plan are all shown', async () => {
  world.engine.submitPlan = async () => {
    const issues = [
      { file: 'demo.yaml', line: 3, key: 'tasks.a.comand', message: 'unknown key' },
      { file: 'demo.yaml', line: 9, key: 'tasks.b', message: 'depends on nobody' },
    ];
    throw Object.assign(new DroverError('plan_invalid', '2 errors in demo.yaml', ''), { issues });
  };
  const { code, stderr } = await world.run(['run', planFile()]);
  expect(code).toBe(2);
  expect(stderr).toContain('demo.yaml:3: tasks.a.comand: unknown key');
  expect(stderr).toContain('demo.yaml:9: tasks.b: depends on nobody');
});

describe('--json prints one document and nothing else', () => {
  test.each([
    [['status'], 'engine'],
    [['status', '--all'], 'tasks'],
    [['status', 'demo/a'], 'history'],
    [['ls'], 'tasks'],
    [['stop', 'demo/a'], 'stopped'],
    [['rm', 'demo/a'], 'removed'],
    [['diff', 'demo/a'], 'text'],
    [['version'], 'engine'],
    [['up'], 'pid'],
    [['wait', 'demo/b'], 'ok'],
    [['doctor'], 'findings'],
    [['spawn', '-d', '--', 'true'], 'tasks'],
  ])('%j', async (args, key) => {
    world.engine.put('demo/a');
    world.engine.put('demo/b', { state: 'ended', outcome: 'ok' });
    const { stdout, stderr } = await world.run([...args.slice(0, 1), '--json', ...args.slice(1)]);
    expect(JSON.parse(stdout)).toHaveProperty(key);
    expect(stderr).toBe('');
  });
});

test('spawn sends prompt, command and flags as a plan would hold them', async () => {
  await world.run(['spawn', '-d', '--agent', 'claude', '--id', 'fix', '--priority', 'high', 'Fix it']);
  await world.run(
    [
      'spawn',
      '-d',
      '--verify',
      'npm run "my test"',
      '--limit',
      'memory=2G',
      '--limit',
      'pids=99',
      '--timeout',
      '5m',
    ].concat(['--level', 'basic', '--', 'sh', '-c', 'exit 0', '--json']),
  );
  const sent = world.engine.calls.map(([, input]) => input as { task: object; overrides: object; cwd: string });
  expect(sent[0]).toMatchObject({
    task: { agent: 'claude', id: 'fix', priority: 'high', prompt: 'Fix it' },
    cwd: world.dir,
  });
  expect(sent[1]?.task).toEqual({
    command: ['sh', '-c', 'exit 0', '--json'],
    verify: ['npm', 'run', 'my test'],
    limits: { memory: '2G', pids: '99' },
    timeout: '5m',
  });
  expect(sent[1]?.overrides).toEqual({ 'execution_engine.isolation_level': 'basic' });
});

test('run sends the plan’s text and flags as configuration', async () => {
  const file = planFile();
  await world.run([
    'run',
    'demo.yaml',
    '-d',
    '--fresh',
    '--agent',
    'codex',
    '--max-parallel',
    '3',
    '--limit',
    'cpus=0.5',
  ]);
  expect(world.engine.calls[0]?.[1]).toMatchObject({
    file,
    text: 'tasks: []\n',
    fresh: true,
    agent: 'codex',
    overrides: { 'execution_engine.max_parallel_agents': 3, 'limits.cpus': '0.5' },
  });
});

test('status and ls for people', async () => {
  world.engine.put('demo/a', {
    state: 'active',
    attemptState: 'running',
    activity: 'reads src/main.ts',
    startedMs: 1,
    elapsedMs: 65_000,
    memoryBytes: 300 * 1024 ** 2,
    memoryLimitBytes: 2 * 1024 ** 3,
    cpuMs: 1500,
  });
  const { stdout } = await world.run(['status']);
  expect(stdout).toContain('1 of at most 4');
  expect(stdout).toMatch(/demo\/a +command +running +1m05s +300 MB \/ 2 GB +1\.5s +reads src\/main\.ts/);
  expect((await world.run(['ls', '-q'])).stdout).toBe('demo/a\n');
});

test('COLUMNS narrows tables', async () => {
  world.engine.put('demo/a', {
    reason: 'It waits for a free slot and for much else, which makes this a long sentence.',
  });
  const { stdout } = await world.run(['ls'], { COLUMNS: '60' });
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
  expect(stdout).toContain('…');
});

test('colours only on a terminal, and not with NO_COLOR', async () => {
  world.engine.put('demo/a');
  expect((await world.run(['ls'])).stdout).not.toContain('\u001b');
  const size = { cols: 80, rows: 24 };
  const coloured = world.terminal(['ls'], size);
  await coloured.exit;
  expect(coloured.raw).toContain('\u001b[');
  const plain = world.terminal(['ls'], size, { NO_COLOR: '1' });
  await plain.exit;
  expect(plain.raw).not.toContain('\u001b[');
});

test('names and reasons cannot steer the terminal', async () => {
  const evil = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202ename\r\nnext';
  world.engine.put('demo/a', { reason: evil, activity: evil, task: evil, agent: evil, branch: evil });
  world.engine.details.set('demo/a', { prompt: evil });
  for (const args of [
    ['ls', '-a'],
    ['status', '--all'],
    ['status', 'demo/a'],
    ['status', '--json'],
    ['ls', '--json'],
  ]) {
    const { stdout } = await world.run(args);
    expect([...stdout].filter((char) => '\u001b\u0007\u009b\u202e\r'.includes(char))).toEqual([]);
    expect(stdout).not.toContain('owned\n');
  }
});

test('diff is raw in a pipe and clean on a terminal', async () => {
  world.engine.put('demo/a');
  world.engine.diff = async () => ({ base: 'a', head: 'b', text: '+\u001b[31mred\r\n', truncated: false });
  expect((await world.run(['diff', 'demo/a'])).stdout).toBe('+\u001b[31mred\r\n');
  const shown = world.terminal(['diff', 'demo/a'], { cols: 80, rows: 24 });
  await shown.exit;
  expect(shown.raw).not.toContain('\u001b[31m');
});

test('down ends the engine and waits until it is gone', async () => {
  expect(await world.run(['down'])).toMatchObject({ code: 0, stdout: 'The engine has ended.\n' });
  expect(await world.run(['down'])).toMatchObject({ code: 0, stdout: 'No engine is running.\n' });
});

test('a reader that has enough ends it quietly', async () => {
  for (let n = 0; n < 3000; n++) world.engine.put(`demo/task-${n}`);
  const started = world.start(['ls']);
  started.child.stdout?.once('data', () => started.child.stdout?.destroy());
  const { code, stderr } = await started.result;
  expect([code, stderr]).toEqual([0, '']);
});
