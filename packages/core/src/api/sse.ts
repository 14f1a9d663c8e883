/** One server-sent event. */
export interface SseEvent {
  event: string;
  data: string;
}

/** Splits a byte stream into server-sent events. An event that the end of the stream cuts off is dropped. */
export async function* parseSse(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let current: SseEvent = { event: 'message', data: '' };
  let filled = false;
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (filled) yield current;
        current = { event: 'message', data: '' };
        filled = false;
        continue;
      }
      if (line.startsWith('event: ')) current.event = line.slice(7);
      else if (line.startsWith('data: ')) current.data += line.slice(6);
      filled = true;
    }
  }
}
