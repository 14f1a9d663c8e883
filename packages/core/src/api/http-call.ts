import { type IncomingMessage, request } from 'node:http';
import { DroverError } from '../shared/errors.ts';
import { API_HEADER, API_VERSION } from './version.ts';
import { fromWireError, isWireError } from './wire-error.ts';

/** The connection failed. `sent` tells whether the engine may have seen the request. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly sent: boolean;
  constructor(sent: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.sent = sent;
  }
}

export interface HttpCall {
  socketPath: string;
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  accept?: string;
  signal?: AbortSignal;
  /** Until the answer begins. Absent: no bound. */
  timeoutMs?: number;
}

/** Sends one request over a connection of its own. Rejects with {@link ConnectionError} when the engine is not there or goes away. */
export function send(call: HttpCall): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let connected = false;
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const req = request({
      socketPath: call.socketPath,
      method: call.method,
      path: call.path,
      agent: false,
      headers: {
        host: 'engine',
        accept: call.accept ?? 'application/json',
        [API_HEADER]: String(API_VERSION),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
      ...(call.signal ? { signal: call.signal } : {}),
    });
    const timer = call.timeoutMs === undefined ? undefined : setTimeout(() => req.destroy(noAnswer()), call.timeoutMs);
    req.once('socket', (socket) => socket.once('connect', () => (connected = true)));
    req.once('response', (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    req.on('error', (error) => {
      clearTimeout(timer);
      reject(error instanceof DroverError ? error : new ConnectionError(connected, error));
    });
    req.end(body);
  });
}

function noAnswer(): DroverError {
  return new DroverError('engine_unreachable', 'The engine does not answer.', 'See its engine.log; drover doctor.');
}

/** The JSON of an answer. Throws the DroverError that the engine sent instead. */
export async function readJson(response: IncomingMessage): Promise<unknown> {
  const text = await readAll(response);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DroverError('engine_unreachable', `The engine sent no JSON (status ${response.statusCode}).`, '', {
      cause,
    });
  }
  throwIfError(value);
  return value;
}

/** Throws the error in `value`, as the router (or the server in front of it) writes it. */
export function throwIfError(value: unknown): void {
  const error = (value as { error?: unknown } | null)?.error;
  if (error === undefined) return;
  const wire = (error as { data?: { drover?: unknown } }).data?.drover ?? error;
  if (isWireError(wire)) throw fromWireError(wire);
  throw new DroverError('internal', `The engine failed: ${JSON.stringify(error).slice(0, 500)}`);
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    throw new ConnectionError(true, error);
  }
  return Buffer.concat(chunks).toString('utf8');
}
