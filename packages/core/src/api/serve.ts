import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http';
import { claimSocket } from './claim-socket.ts';
import { createRouter, type EngineService } from './router.ts';
import { API_HEADER, API_VERSION, DROVER_VERSION } from './version.ts';
import type { WireError } from './wire-error.ts';

/** A plan has 4 MiB at most, and JSON can double it. */
const BODY_MAX = 16 * 1024 * 1024;
const CONNECTIONS_MAX = 256;

export interface ServeOptions {
  socketPath: string;
  service: EngineService;
  /** The text of `GET /metrics`, in Prometheus' format. */
  metrics?: () => string | Promise<string>;
  /** Told of every call that failed with something else than a DroverError. */
  onError?: (error: unknown, call: string) => void;
}

export interface EngineServer {
  /** Ends event streams in an orderly way, waits for calls in flight (bounded), removes the socket. */
  close(): Promise<void>;
}

/**
 * Serves the engine's API on a Unix socket: tRPC over HTTP under `/trpc/`, events as server-sent events, and `GET /metrics`, `GET /version`.
 * Each call has a connection of its own, so that a client that does not read slows only itself.
 */
export async function serveEngine(options: ServeOptions): Promise<EngineServer> {
  const closing = new AbortController();
  const router = createRouter(options.service);
  const rpc = (req: IncomingMessage, res: ServerResponse, path: string) =>
    nodeHTTPRequestHandler({
      router,
      req,
      res,
      path,
      maxBodySize: BODY_MAX,
      createContext: async () => ({ closing: closing.signal }),
      onError: ({ error, path: call }) => {
        if (error.code === 'INTERNAL_SERVER_ERROR') options.onError?.(error.cause ?? error, call ?? '');
      },
    });
  const server = createServer((req, res) => void handle(req, res, rpc, options));
  server.maxConnections = CONNECTIONS_MAX;
  const claim = await claimSocket(server, options.socketPath);
  return {
    async close() {
      claim.release();
      closing.abort();
      await closeServer(server);
    },
  };
}

type Rpc = (req: IncomingMessage, res: ServerResponse, path: string) => Promise<void>;

async function handle(req: IncomingMessage, res: ServerResponse, rpc: Rpc, options: ServeOptions): Promise<void> {
  const { pathname } = new URL(req.url ?? '/', 'http://engine');
  res.setHeader(API_HEADER, String(API_VERSION));
  try {
    if (pathname === '/metrics' && options.metrics) return await answerMetrics(res, options.metrics);
    if (pathname === '/version') return answerJson(res, 200, identity());
    const asked = req.headers[API_HEADER];
    if (asked !== undefined && asked !== String(API_VERSION))
      return answerJson(res, 409, { error: otherVersion(asked) });
    if (pathname.startsWith('/trpc/')) return await rpc(req, res, pathname.slice('/trpc/'.length));
    answerJson(res, 404, { error: { code: 'bad_request', message: `There is nothing at ${pathname}`, hint: '' } });
  } catch (error) {
    options.onError?.(error, pathname);
    if (!res.headersSent) res.writeHead(500);
    res.end();
  }
}

async function answerMetrics(res: ServerResponse, metrics: () => string | Promise<string>): Promise<void> {
  const text = await metrics();
  res.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  res.end(text);
}

function answerJson(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}

const identity = () => ({ apiVersion: API_VERSION, version: DROVER_VERSION, pid: process.pid });

function otherVersion(asked: string | string[]): WireError {
  return {
    code: 'engine_version',
    message: `The running engine speaks version ${API_VERSION} of the API, this client version ${asked}.`,
    hint: 'Restart the engine: drover down --force, then run the command again. Agents go on meanwhile.',
  };
}

/** Calls in flight may end; what is left after two seconds is cut. */
async function closeServer(server: ReturnType<typeof createServer>): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), 2000);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearTimeout(cut);
}
