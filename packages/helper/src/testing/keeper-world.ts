import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { afterEach, beforeEach, expect } from 'vitest';
import {
  decodeRecords,
  encodeRecords,
  getRecord,
  KeeperClient,
  KeeperError,
  type KeeperExec,
  type KeeperSpec,
  keeperBinary,
  specRecords,
  startBasicKeeper,
} from '../index.ts';

/** One keeper in a directory of its own, for one test. After the test nothing of it may be left. */
export interface KeeperWorld {
  dir: string;
  /** Keepers and inits, and whatever else a test wants to see dead at its end. */
  pids: number[];
}

/** A uid that nobody else has here, so that limits per user are this test's alone. */
const PLAIN_UID = 64_123;

export const PATH = process.env.PATH!;
export const sh = (script: string): string[] => ['sh', '-c', script];
export const node = (script: string): string[] => [process.execPath, '-e', script];

/** Sets up a world around each test of the file. */
export function keeperWorld(): KeeperWorld {
  const world: KeeperWorld = { dir: '', pids: [] };
  beforeEach(async () => {
    world.dir = await mkdtemp(join(tmpdir(), 'drover-keeper-'));
    world.pids = [];
  });
  afterEach(async () => {
    await KeeperClient.stop(world.dir, { graceMs: 0 }).catch(() => undefined);
    await KeeperClient.watch(world.dir).catch(() => undefined);
    await KeeperClient.end(world.dir).catch(() => undefined);
    await expect.poll(() => world.pids.filter(alive), { message: 'processes left behind', timeout: 5000 }).toEqual([]);
    expect(processesIn(world.dir), 'processes with this directory in their environment').toEqual([]);
    await rm(world.dir, { recursive: true, force: true });
  });
  return world;
}

/** Starts an agent whose processes can be found by the directory in their environment. */
export async function startAgent(world: KeeperWorld, argv: string[], more: Partial<KeeperSpec> = {}): Promise<void> {
  const { keeperPid, initPid } = await startBasicKeeper({ ...specOf(world, argv), ...more });
  world.pids.push(keeperPid, initPid);
}

export function specOf(world: KeeperWorld, argv: string[]): KeeperSpec {
  return { dir: world.dir, argv, env: { PATH, DROVER_TEST_DIR: world.dir }, cwd: '/' };
}

export function execSpec(world: KeeperWorld, argv: string[], more: Partial<KeeperExec> = {}): KeeperExec {
  return { argv, env: { PATH, DROVER_TEST_DIR: world.dir }, cwd: '/', group: 'side', ...more };
}

/** Starts the keeper as an ordinary user, whose rights decide then. Needs root. */
export async function startAsUser(world: KeeperWorld, argv: string[]): Promise<void> {
  chmodSync(world.dir, 0o777);
  const child: ChildProcess = spawn(keeperBinary(), ['run', '--spec-fd', '3', '--report-fd', '4'], {
    detached: true,
    uid: PLAIN_UID,
    gid: PLAIN_UID,
    cwd: '/',
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  (child.stdio[3] as Writable).end(encodeRecords(specRecords(specOf(world, argv))));
  const report = decodeRecords(await collect(child.stdio[4] as Readable));
  const error = getRecord(report, 'error');
  if (error !== undefined) throw new KeeperError(error, getRecord(report, 'message')!);
  world.pids.push(Number(getRecord(report, 'keeper_pid')), Number(getRecord(report, 'init_pid')));
}

/** A zombie is dead: whose child it was reaps it when it likes. */
export function alive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Living processes with `dir` in their environment: an agent's, however far they went from it. */
export function processesIn(dir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return alive(pid) && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`DROVER_TEST_DIR=${dir}\0`);
      } catch {
        return false;
      }
    });
}

/** What a keeper may take in memory, in KiB: `own` of the build that is shipped, more of one that watches itself. */
export const limitKb = (own: number): number => own + (process.env.DROVER_LIBEXEC?.includes('sanitize') ? 100_000 : 0);

/** Resident memory in KiB, or another field of the process's status. */
export function rssKb(pid: number, field = 'VmRSS'): number {
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

/** CPU time of a process in ticks of 10 ms. */
export function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /s, '').split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

export async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A connection without the client's manners. */
export function rawConnection(world: KeeperWorld): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(join(world.dir, 'keeper.sock'), () => resolve(socket));
    socket.on('error', reject);
  });
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
