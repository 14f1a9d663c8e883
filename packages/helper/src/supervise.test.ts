import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keeperBinary } from './index.ts';
import { alive, node, sh } from './testing/keeper-world.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'drover-supervise-'));
});
afterEach(() => rm(dir, { recursive: true }));

interface Supervised {
  pid: number;
  stderr: () => string;
  ended: Promise<{ code: number | null; signal: string | null }>;
  kill(signal: NodeJS.Signals): void;
}

function supervise(argv: string[], options: string[] = []): Supervised {
  const child = spawn(keeperBinary(), ['supervise', ...options, '--', ...argv], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    cwd: dir,
  });
  let text = '';
  child.stderr.on('data', (data) => {
    text += data;
  });
  return {
    pid: child.pid!,
    stderr: () => text,
    ended: new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal }))),
    kill: (signal) => void child.kill(signal),
  };
}

describe('supervise', () => {
  it('ends with 0 when the program does', async () => {
    expect(await supervise(sh('exit 0')).ended).toMatchObject({ code: 0 });
  });

  it('starts the program again after a crash, with a line for each time', async () => {
    const run = supervise(sh('echo x >> runs; [ $(wc -l < runs) -ge 4 ] || kill -SEGV $$; exit 0'));
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(await readFile(join(dir, 'runs'), 'utf8')).toBe('x\nx\nx\nx\n');
    const lines = run.stderr().trim().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe('supervise: sh was ended by signal 11; started again in 100 ms');
    expect(lines[2]).toContain('in 400 ms');
  });

  it('does not start again what says so', async () => {
    const run = supervise(sh('echo x >> runs; exit 75'));
    expect(await run.ended).toMatchObject({ code: 75 });
    expect(await readFile(join(dir, 'runs'), 'utf8')).toBe('x\n');
  });

  it('gives up after quick failures in a row', async () => {
    const run = supervise(sh('echo x >> runs; exit 1'), ['--max-restarts', '2']);
    expect(await run.ended).toMatchObject({ code: 1 });
    expect(await readFile(join(dir, 'runs'), 'utf8')).toBe('x\nx\nx\n');
    expect(run.stderr()).toContain('crashed 3 times in a row');
  });

  it('passes SIGTERM on and ends with the program', async () => {
    const run = supervise(
      node("process.on('SIGTERM', () => process.exit(9)); console.error('up'); setInterval(() => {}, 1000)"),
    );
    await expect.poll(run.stderr, { timeout: 10_000 }).toContain('up');
    run.kill('SIGTERM');
    expect(await run.ended).toMatchObject({ code: 9 });
  });

  it('ends at once when told to while it waits', async () => {
    const run = supervise(sh('exit 1'), ['--max-restarts', '100']);
    await expect.poll(run.stderr, { timeout: 10_000 }).toContain('in 800 ms');
    run.kill('SIGTERM');
    expect(await run.ended).toMatchObject({ code: 0 });
  });

  it('lets the program live when it is killed itself', async () => {
    const run = supervise(sh('echo $$ >&2; exec sleep 30'));
    await expect.poll(run.stderr).toContain('\n');
    const program = Number(run.stderr());
    process.kill(run.pid, 'SIGKILL');
    await expect.poll(() => alive(run.pid)).toBe(false);
    expect(alive(program)).toBe(true);
    process.kill(program, 'SIGKILL');
    await run.ended;
  });
});
