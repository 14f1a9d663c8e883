import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { replyOf } from './reply.ts';
import { keyEnd, type LoggedRequest, loggableHeaders, RequestLog } from './request-log.ts';
import { chooseTurn, type Script, type Turn } from './script.ts';
import { WIRES } from './wires/index.ts';
import type { Wire } from './wires/wire.ts';

export interface FakeLlmOptions {
  script: Script;
  /** One JSON object a request is appended here. */
  logFile?: string;
  /** 0, the default, takes any free port. */
  port?: number;
  host?: string;
}

export interface FakeLlm {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string;
  /** Every request so far, oldest first. */
  readonly requests: readonly LoggedRequest[];
  /** Plays another script from now on; errors are counted anew. */
  play(script: Script): void;
  /** Cuts open connections and stops. */
  stop(): Promise<void>;
}

/** Starts a model endpoint that plays a script. It listens on the loopback only. */
export async function startFakeLlm(options: FakeLlmOptions): Promise<FakeLlm> {
  const log = new RequestLog(options.logFile);
  let player = new Player(options.script, log);
  const server = createServer((request, response) => {
    player.answer(request, response).catch((error: Error) => fail(response, error));
  });
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    requests: log.entries,
    play: (script) => {
      player = new Player(script, log);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Plays one script. */
class Player {
  readonly #script: Script;
  readonly #log: RequestLog;
  readonly #errorsGiven = new Map<string, number>();

  constructor(script: Script, log: RequestLog) {
    this.#script = script;
    this.#log = log;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readAll(request);
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const key = keyEnd(request.headers);
    const entry: LoggedRequest = {
      method: request.method ?? '',
      path,
      headers: loggableHeaders(request.headers),
      body: parseBody(text),
      ...(key ? { key } : {}),
    };
    const wire = request.method === 'POST' ? WIRES.find((one) => one.serves(path)) : undefined;
    if (wire) return this.#model(wire, entry, text.length, response);
    this.#log.add(entry);
    const side = request.method === 'POST' ? firstSide(path, text.length) : undefined;
    if (side) return json(response, 200, side);
    if (request.method === 'HEAD') return void response.writeHead(200).end();
    json(response, 404, { type: 'error', error: { type: 'not_found_error', message: `no route for ${path}` } });
  }

  async #model(wire: Wire, entry: LoggedRequest, bytes: number, response: ServerResponse): Promise<void> {
    const conversation = wire.read(entry.path, entry.body);
    const { turn, index, key } = chooseTurn(this.#script, conversation);
    Object.assign(entry, { wire: wire.name, prompt: conversation.prompt, turn: index });
    const error = this.#dueError(turn, key);
    if (error) {
      this.#log.add({ ...entry, error: error.status });
      const body = wire.error(error.status, error.type ?? 'api_error', error.message ?? 'scripted error');
      return json(response, error.status, body, error.headers);
    }
    const reply = replyOf(turn, conversation, bytes);
    this.#log.add({ ...entry, reply: { text: reply.text, tools: reply.calls.map((call) => call.tool) } });
    if (turn.delayMs) await sleep(turn.delayMs);
    if (!conversation.stream) return playWhole(response, wire.whole(reply, conversation), turn);
    await playStream(response, wire.stream(reply, conversation), turn);
  }

  #dueError(turn: Turn, key: string) {
    const given = this.#errorsGiven.get(key) ?? 0;
    if (!turn.error || given >= (turn.error.times ?? Number.POSITIVE_INFINITY)) return undefined;
    this.#errorsGiven.set(key, given + 1);
    return turn.error;
  }
}

/** A client whose stream broke may ask again without one: it must meet the same fate. */
function playWhole(response: ServerResponse, body: unknown, turn: Turn): void {
  if (turn.drop) response.destroy();
  else if (!turn.hang) json(response, 200, body);
}

async function playStream(response: ServerResponse, frames: readonly string[], turn: Turn): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  const shown = turn.hang || turn.drop ? frames.slice(0, Math.ceil(frames.length / 2)) : frames;
  for (const frame of shown) {
    if (response.destroyed) return;
    // Flushed, so that a dropped stream does bring its first half.
    await new Promise<void>((resolve) => response.write(frame, () => resolve()));
    if (turn.chunkMs) await sleep(turn.chunkMs);
  }
  if (turn.hang) return;
  if (turn.drop) response.destroy();
  else response.end();
}

function firstSide(path: string, bytes: number): unknown {
  for (const wire of WIRES) {
    const body = wire.side(path, bytes);
    if (body !== undefined) return body;
  }
  return undefined;
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function parseBody(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function fail(response: ServerResponse, error: Error): void {
  if (response.headersSent) response.destroy();
  else json(response, 500, { type: 'error', error: { type: 'api_error', message: `fake model: ${error.message}` } });
}
