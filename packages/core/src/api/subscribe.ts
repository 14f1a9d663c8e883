import type { FleetEvent } from './contract.ts';
import { ConnectionError, readJson, send, throwIfError } from './http-call.ts';
import { parseSse } from './sse.ts';

/**
 * The events of one connection. Returns when the engine ends the stream on purpose;
 * throws ConnectionError when it was cut, and the engine's DroverError when it sent one.
 */
export async function* subscribe(
  socketPath: string,
  input: { sinceSeq: number; plan?: string | undefined },
  signal: AbortSignal,
): AsyncGenerator<FleetEvent> {
  const query = encodeURIComponent(JSON.stringify(input));
  const response = await send({
    socketPath,
    method: 'GET',
    path: `/trpc/events?input=${query}`,
    accept: 'text/event-stream',
    signal,
  });
  if (response.statusCode !== 200) {
    await readJson(response);
    return;
  }
  try {
    for await (const { event, data } of parseSse(response)) {
      if (event === 'return') return;
      if (event === 'serialized-error') throwIfError(wrap(JSON.parse(data)));
      if (event === 'message') yield JSON.parse(data) as FleetEvent;
    }
  } catch (error) {
    throw isCut(error) ? new ConnectionError(true, error) : error;
  } finally {
    response.destroy();
  }
  throw new ConnectionError(true, new Error('the stream was cut'));
}

/** A subscription's error is the shape itself, a call's is under `error`. */
const wrap = (value: unknown) => (value && typeof value === 'object' && 'error' in value ? value : { error: value });

const isCut = (error: unknown) =>
  error instanceof Error &&
  ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
