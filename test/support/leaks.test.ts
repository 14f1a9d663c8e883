import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { describeLeaks, findLeaks, settledLeaks } from './leaks.ts';
import { carries, currentMark, MARK_VARIABLE } from './mark.ts';

const isRoot = process.getuid?.() === 0;
const mark = currentMark();
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const kinds = () => findLeaks(mark).map((leak) => leak.kind);

function sleeper(env: NodeJS.ProcessEnv, cwd = '/'): number {
  const child = spawn('sleep', ['60'], { env, cwd, stdio: 'ignore', detached: true });
  undo.push(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  });
  return child.pid!;
}

describe('the leak checker', () => {
  test('finds nothing where nothing was left', () => {
    expect(findLeaks(mark)).toEqual([]);
  });

  test('finds a process by the environment it inherited', async () => {
    const pid = sleeper({ PATH: process.env.PATH, [MARK_VARIABLE]: mark });
    await expect.poll(() => describeLeaks(findLeaks(mark))).toContain(`process: ${pid} `);
  });

  test('finds a process that dropped its environment by the directory it stands in', async () => {
    const directory = mkdtempSync(join(tmpdir(), `${mark}-`));
    undo.push(() => rmSync(directory, { recursive: true }));
    const pid = sleeper({ PATH: process.env.PATH }, directory);
    await expect.poll(() => describeLeaks(findLeaks(mark))).toContain(`process: ${pid} `);
    expect(kinds()).toContain('directory');
  });

  test('does not take another file for this one because its mark begins alike', () => {
    expect(carries('dt00aa11-123', 'dt00aa11-12')).toBe(false);
    expect(carries('dt00aa11-123 dt00aa11-12/', 'dt00aa11-12')).toBe(true);
  });

  test('finds a listening socket', async () => {
    const directory = mkdtempSync(join(tmpdir(), `${mark}-`));
    undo.push(() => rmSync(directory, { recursive: true }));
    const server = createServer().listen(join(directory, 's'));
    undo.push(() => new Promise((resolve) => server.close(resolve)));
    await expect.poll(kinds).toContain('socket');
  });

  test.runIf(isRoot)('finds a mount', () => {
    const directory = mkdtempSync(join(tmpdir(), `${mark}-`));
    undo.push(() => rmSync(directory, { recursive: true }));
    expect(spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', directory]).status).toBe(0);
    undo.push(() => expect(spawnSync('umount', [directory]).status).toBe(0));
    expect(kinds()).toContain('mount');
  });

  test.runIf(isRoot)('finds a cgroup', () => {
    const root = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find(
      (path) => spawnSync('test', ['-f', `${path}/cgroup.procs`]).status === 0,
    );
    const group = join(root!, mark);
    mkdirSync(group);
    undo.push(() => rmdirSync(group));
    expect(kinds()).toContain('cgroup');
  });

  test('waits for what is about to vanish, and reports what is not', async () => {
    const child = spawn('sleep', ['0.3'], { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    expect(await settledLeaks(mark, 3_000)).toEqual([]);
    await ended;
    sleeper({ PATH: process.env.PATH, [MARK_VARIABLE]: mark });
    expect((await settledLeaks(mark, 200)).length).toBe(1);
  });
});
