import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { connect as connectSocket, createServer as createNetServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTRPCClient, httpLink } from '@trpc/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DroverError } from '../shared/errors.ts';
import { connectEngine } from './client.ts';
import type { EngineApi } from './engine-api.ts';
import type { EngineRouter } from './router.ts';
import { type EngineServer, serveEngine } from './serve.ts';
import { FakeEngine } from './testing/index.ts';

let dir: string;
let env: Record<string, string>;
let socketPath: string;
let engine: FakeEngine;
let server: EngineServer | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'drover-api-'));
  env = { DROVER_STATE_DIR: dir, PATH: process.env.PATH ?? '' };
  socketPath = join(dir, 'engine.sock');
  engine = new FakeEngine();
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(dir, { recursive: true });
});

const serve = async () => {
  server = await serveEngine({ socketPath, service: engine, metrics: () => 'drover_up 1\n' });
};
const connect = () => connectEngine({ env, start: false });
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error('it was expected to fail');
    },
    (error) => error as DroverError & { issues?: unknown[]; pid?: number },
  );

function get(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  body?: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const req = request({ socketPath, path, headers, method, agent: false }, async (res) => {
      let text = '';
      for await (const chunk of res) text += chunk;
      resolve({ status: res.statusCode ?? 0, text });
    });
    req.on('error', reject);
    req.end(body);
  });
}

async function take(api: EngineApi, count: number, sinceSeq = 0, onEach: (n: number) => unknown = () => {}) {
  const abort = new AbortController();
  const seqs: number[] = [];
  for await (const event of api.events({ sinceSeq }, abort.signal)) {
    seqs.push(event.seq);
    if (seqs.length === count) abort.abort();
    else await onEach(seqs.length);
  }
  return seqs;
}

test('every call reaches the service and its answer comes back', async () => {
  engine.put('demo/a');
  await serve();
  const api = await connect();
  expect((await api.info()).apiVersion).toBe(1);
  expect((await api.status({})).tasks[0]?.ref).toBe('demo/a');
  expect((await api.task({ ref: 'demo/a' })).command).toEqual(['true']);
  expect(await api.stop({ refs: ['a'] })).toEqual({ stopped: ['demo/a'] });
  expect(await api.remove({ refs: ['a'] })).toEqual({ removed: ['demo/a'] });
  expect((await api.diff({ ref: 'a' })).text).toContain('+hello');
  const submission = { cwd: '/', env: {}, overrides: {}, file: 'p.yaml', text: 'ü'.repeat(1000) };
  expect((await api.submitPlan(submission)).plan).toBe('demo');
  expect((await api.spawnTask({ cwd: '/', env: {}, overrides: {}, task: { prompt: 'x' } })).plan).toBe('solo');
  expect(engine.calls[2]).toEqual(['submitPlan', submission]);
});

test('an error keeps code, message, hint and issues', async () => {
  const issues = [{ file: 'p.yaml', line: 3, key: 'tasks.a', message: 'no' }];
  engine.submitPlan = async () => {
    throw Object.assign(new DroverError('bad_plan', 'two errors', 'mend it'), { issues });
  };
  await serve();
  const api = await connect();
  const error = await failure(api.submitPlan({ cwd: '/', env: {}, overrides: {}, file: 'p', text: '' }));
  expect(error).toBeInstanceOf(DroverError);
  expect(error).toMatchObject({ code: 'bad_plan', message: 'two errors', hint: 'mend it', issues });
});

test('a fault of the engine is internal, and its stack stays there', async () => {
  engine.info = async () => {
    throw new TypeError('x is not a function');
  };
  await serve();
  const error = await failure((await connect()).info());
  expect(error).toMatchObject({ code: 'internal', message: 'x is not a function' });
  expect((await get('/trpc/info')).text).not.toContain('api.test.ts');
});

test('input that breaks the contract is refused with its key', async () => {
  await serve();
  const api = await connect();
  const error = await failure(api.stop({ refs: [] }));
  expect(error).toMatchObject({ code: 'bad_request', issues: [{ key: 'refs' }] });
});

test('a body over the cap is refused and the engine stays', async () => {
  await serve();
  const api = await connect();
  const text = 'x'.repeat(17 * 1024 * 1024);
  const error = await failure(api.submitPlan({ cwd: '/', env: {}, overrides: {}, file: 'p', text }));
  expect(error).toBeInstanceOf(DroverError);
  expect((await api.info()).apiVersion).toBe(1);
});

test('the wire is plain tRPC: its own client can use it', async () => {
  engine.put('demo/a');
  await serve();
  const fetchOverSocket = async (url: URL | RequestInfo, init?: { method?: string; body?: unknown }) => {
    const { pathname, search } = new URL(String(url));
    const headers = { 'content-type': 'application/json' };
    const { status, text } = await get(pathname + search, headers, init?.method, init?.body as string | undefined);
    return new Response(text, { status });
  };
  const trpc = createTRPCClient<EngineRouter>({
    links: [httpLink({ url: 'http://engine/trpc', fetch: fetchOverSocket as typeof fetch })],
  });
  expect((await trpc.status.query({ plan: 'demo' })).tasks[0]?.ref).toBe('demo/a');
  expect(await trpc.stop.mutate({ refs: ['demo/a'] })).toEqual({ stopped: ['demo/a'] });
  await expect(trpc.task.query({ ref: 'nobody' })).rejects.toMatchObject({
    data: { drover: { code: 'no_such_task' } },
  });
});

test('metrics are served beside the API', async () => {
  await serve();
  expect(await get('/metrics')).toEqual({ status: 200, text: 'drover_up 1\n' });
});

test('the socket is for its user only, and a second engine is refused', async () => {
  await serve();
  expect(statSync(socketPath).mode & 0o777).toBe(0o600);
  const error = await failure(serveEngine({ socketPath, service: engine }));
  expect(error.code).toBe('engine_running');
  expect((await (await connect()).info()).apiVersion).toBe(1);
});

test('of engines that start together exactly one gets the socket, also over a dead one', async () => {
  for (const dead of [false, true]) {
    if (dead) await leaveDeadSocket(socketPath);
    const results = await Promise.allSettled([1, 2, 3].map(() => serveEngine({ socketPath, service: engine })));
    const won = results.filter((r) => r.status === 'fulfilled');
    expect(won.length).toBe(1);
    expect((await (await connect()).info()).apiVersion).toBe(1);
    await won[0]?.value.close();
    expect(readdirSync(dir)).toEqual([]);
  }
});

test('the socket of an engine that was killed is replaced', async () => {
  await leaveDeadSocket(socketPath);
  await serve();
  expect((await (await connect()).info()).apiVersion).toBe(1);
});

async function leaveDeadSocket(path: string): Promise<void> {
  const code = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  const child = spawn(process.execPath, ['-e', code]);
  await new Promise((resolve) => child.once('exit', resolve));
}

test('without an engine the client says so and what to do', async () => {
  const error = await failure(connect());
  expect(error).toMatchObject({ code: 'engine_unreachable' });
  expect(error.hint).toContain('drover up');
});

test('a socket path that Linux cannot have is named', async () => {
  const long = { DROVER_STATE_DIR: join(dir, 'x'.repeat(100)) };
  expect((await failure(connectEngine({ env: long, start: true }))).code).toBe('socket_path_too_long');
});

test('an engine of another version is named with its pid', async () => {
  const other = createHttpServer((_req, res) =>
    res.end(JSON.stringify({ apiVersion: 99, version: '9.0.0', pid: 4711 })),
  );
  await new Promise<void>((resolve) => other.listen(socketPath, resolve));
  const error = await failure(connect());
  expect(error).toMatchObject({ code: 'engine_version', pid: 4711 });
  expect(error.message).toContain('9.0.0');
  await new Promise((resolve) => other.close(resolve));
});

test('a client of another version is refused by the engine', async () => {
  await serve();
  const { status, text } = await get('/trpc/info', { 'drover-api': '99' });
  expect(status).toBe(409);
  expect(JSON.parse(text).error.code).toBe('engine_version');
});

test('events: those before, then live ones, until the signal aborts', async () => {
  engine.emit('task_queued', 'demo/a', 'queued');
  await serve();
  const api = await connect();
  expect(await take(api, 3, 0, () => engine.emit('warning', null, 'more'))).toEqual([1, 2, 3]);
  expect(await take(api, 1, 2)).toEqual([3]);
});

test('events survive an engine that is cut off, without loss or repetition', async () => {
  let front = await serveBehind();
  const api = await connect();
  for (let n = 0; n < 5; n++) engine.emit('warning', null, `${n}`);
  const seqs = await take(api, 10, 0, async (n) => {
    if (n !== 5) return;
    front.cut();
    for (let i = 0; i < 5; i++) engine.emit('warning', null, 'later');
    setTimeout(async () => (front = await serveBehind()), 100);
  });
  front.cut();
  expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

/** The engine behind a relay that can be cut off as SIGKILL does: without a word, leaving the socket's name. */
async function serveBehind(): Promise<{ cut(): void }> {
  const inner = join(dir, 'inner.sock');
  server ??= await serveEngine({ socketPath: inner, service: engine });
  const open = new Set<Socket>();
  const relay = createNetServer((client) => {
    const upstream = connectSocket(inner);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.pipe(to).on('error', () => {});
    }
  });
  rmSync(socketPath, { force: true });
  await new Promise<void>((resolve) => relay.listen(socketPath, resolve));
  return {
    cut() {
      relay.close();
      for (const socket of open) socket.destroy();
    },
  };
}

test('an orderly shutdown ends the events with engine_stopped', async () => {
  engine.emit('warning', null, 'one');
  await serve();
  const api = await connect();
  const error = await failure(take(api, 2, 0, () => void server?.close()));
  expect(error.code).toBe('engine_stopped');
});

const program = (body: string): string[] => {
  const path = join(dir, 'main.mjs');
  writeFileSync(path, body);
  return [process.execPath, path];
};

test('a missing engine is started: own session, / as directory, an environment of its own', async () => {
  const engineArgv = program(`
    import { readFileSync } from 'node:fs';
    import { createServer } from 'node:http';
    const session = Number(readFileSync('/proc/self/stat', 'utf8').split(' ')[5]);
    const data = { env: Object.keys(process.env).sort(), cwd: process.cwd(), pid: process.pid, session };
    createServer((req, res) => res.end(JSON.stringify({ apiVersion: 1, result: { data } }))).listen(process.env.DROVER_STATE_DIR + '/engine.sock');
  `);
  const client = { ...env, HOME: '/home/x', SECRET_TOKEN: 'x', LANG: 'C' };
  const api = await connectEngine({ env: client, start: true, engineArgv });
  const seen = (await api.info()) as unknown as { env: string[]; cwd: string; pid: number; session: number };
  process.kill(seen.pid);
  expect(seen.env).toEqual(['DROVER_STATE_DIR', 'HOME', 'LANG', 'PATH']);
  expect(seen).toMatchObject({ cwd: '/', session: seen.pid });
});

test('an engine that does not start shows the end of its log', async () => {
  const engineArgv = program(`console.error('database is of a newer version'); process.exit(7);`);
  const error = await failure(connectEngine({ env, start: true, engineArgv }));
  expect(error.code).toBe('engine_start_failed');
  expect(error.message).toContain('exit code 7');
  expect(error.message).toContain('database is of a newer version');
});
