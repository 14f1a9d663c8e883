import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helperBinary } from '../binaries.ts';
import type { ExitRecord } from '../exit-record.ts';
import { HelperClient, type HelperSpawn } from '../helper-client.ts';
import { KeeperClient } from '../keeper-client.ts';

/** The real daemon needs root and its binary; elsewhere its tests are skipped. */
export const canRunHelper = process.platform === 'linux' && process.geteuid?.() === 0 && existsSync(helperBinary());

let count = 0;

/** In User-Mode Linux everything takes ten times as long. */
export const slow = process.env.IN_UML ? 10 : 1;

export interface AgentRun {
  output: string;
  exit: ExitRecord;
}

/** A daemon of the test's own: its socket, its state and its cgroup, and all of them gone afterwards. */
export class HelperDaemon {
  readonly dir: string;
  readonly socket: string;
  readonly cgroup: string;
  readonly #flags: string[];
  #process: ChildProcess | undefined;
  #clients: HelperClient[] = [];
  #attempts = 0;
  errors = '';

  private constructor(dir: string, flags: string[]) {
    this.dir = dir;
    this.socket = join(dir, 'sock', 'helper.sock');
    this.cgroup = `drover-t${process.pid}-${count++}`;
    this.#flags = flags;
  }

  static async start(...flags: string[]): Promise<HelperDaemon> {
    const dir = await mkdtemp(join(tmpdir(), 'drover-helper-'));
    await chmod(dir, 0o755);
    const daemon = new HelperDaemon(dir, flags);
    await daemon.restart();
    return daemon;
  }

  get pid(): number {
    return this.#process!.pid!;
  }

  /** Starts the daemon (again) and waits until it listens. */
  async restart(): Promise<void> {
    const state = join(this.dir, 'state');
    const args = ['--socket', this.socket, '--state-dir', state, '--cgroup', this.cgroup, ...this.#flags];
    const child = spawn(helperBinary(), args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.on('data', (bytes) => {
      this.errors += String(bytes);
    });
    this.#process = child;
    for (let i = 0; i < 200 * slow; i++) {
      if (child.exitCode !== null) throw new Error(`the helper ended: ${this.errors}`);
      try {
        return (await HelperClient.connect(this.socket)).close();
      } catch {
        await pause(20);
      }
    }
    throw new Error(`the helper does not listen: ${this.errors}`);
  }

  /** Ends the daemon only; sandboxes live on. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  /** A connection as root, or as another user: the kernel takes the effective ids at connect. */
  async client(uid = 0): Promise<HelperClient> {
    let connecting: Promise<HelperClient>;
    try {
      if (uid !== 0) {
        process.setgroups!([uid]);
        process.setegid!(uid);
        process.seteuid!(uid);
      }
      connecting = HelperClient.connect(this.socket);
    } finally {
      if (uid !== 0) {
        process.seteuid!(0);
        process.setegid!(0);
        process.setgroups!([0]);
      }
    }
    const client = await connecting;
    this.#clients.push(client);
    return client;
  }

  /** A new directory for a keeper, owned by `uid`. */
  async attemptDir(uid = 0): Promise<string> {
    const dir = join(this.dir, `attempt-${this.#attempts++}`);
    await mkdir(dir, { mode: 0o700 });
    await chown(dir, uid, uid);
    return dir;
  }

  /** Starts a shell script as job 0 of a sandbox. */
  async spawn(client: HelperClient, sandbox: string, script: string, more: Partial<HelperSpawn> = {}): Promise<string> {
    const dir = more.dir ?? (await this.attemptDir(client.hello.uid));
    await client.spawn({
      sandbox,
      cwd: '/',
      argv: ['/bin/sh', '-c', script],
      env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
      stderr: 'merge',
      settleMs: 30_000 * slow,
      ...more,
      dir,
    });
    return dir;
  }

  /** Runs a script to its end and lets the sandbox's init go. */
  async run(client: HelperClient, sandbox: string, script: string, more: Partial<HelperSpawn> = {}): Promise<AgentRun> {
    const dir = await this.spawn(client, sandbox, script, more);
    const exit = await KeeperClient.watch(dir);
    await KeeperClient.end(dir).catch(() => undefined);
    return { output: await readFile(join(dir, 'stdout.log'), 'utf8'), exit };
  }

  /** Everything is ended and removed. */
  async dispose(): Promise<void> {
    if (this.#process!.exitCode !== null || this.#process!.signalCode !== null) await this.restart();
    for (const client of this.#clients) client.close();
    await this.end('SIGTERM');
    for (const base of this.groups()) killTree(base);
    for (const base of this.groups()) removeTree(base);
    await rm(this.dir, { recursive: true, force: true });
  }

  /** The daemon's own group in each hierarchy. */
  groups(): string[] {
    const roots = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => / - cgroup2? /.test(line))
      .map((line) => line.split(' ')[4]!);
    return [...new Set(roots)].map((root) => join(root, this.cgroup)).filter((path) => existsSync(path));
  }
}

/** Kills what lives in a group; only the unified tree can, and it knows the same processes as the others. */
function killTree(path: string): void {
  try {
    writeFileSync(join(path, 'cgroup.kill'), '1');
  } catch {
    // v1
  }
}

/** Removes a group, leaves first. */
function removeTree(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(path, entry.name));
  for (let i = 0; i < 100; i++) {
    try {
      rmdirSync(path);
      return;
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until `check` holds. */
export async function until(check: () => boolean | Promise<boolean>, ms = 5_000 * slow): Promise<void> {
  const end = Date.now() + ms;
  while (!(await check())) {
    if (Date.now() > end) throw new Error('it did not happen in time');
    await pause(10);
  }
}
