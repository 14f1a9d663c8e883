import { randomBytes } from 'node:crypto';
import { type Conversation, conversation, isInjected, type Message } from '../conversation.ts';
import type { Reply } from '../reply.ts';
import { pieces, sse, type Wire } from './wire.ts';

interface Block {
  type?: string;
  text?: string;
  content?: string | Block[];
}

/** The Messages API. */
export const anthropicWire: Wire = {
  name: 'anthropic',
  serves: (path) => path.endsWith('/messages'),
  side: (path, bytes) => (path.endsWith('/messages/count_tokens') ? { input_tokens: Math.ceil(bytes / 4) } : undefined),
  read: (_path, body) =>
    conversation(
      String(body.model ?? ''),
      body.stream === true,
      ((body.messages as { role: string; content: string | Block[] }[] | undefined) ?? []).flatMap(readMessage),
      ((body.tools as { name?: string; type?: string }[] | undefined) ?? []).map(
        (tool) => tool.name ?? tool.type ?? '',
      ),
    ),
  whole: (reply, on) => ({
    ...head(on, reply),
    content: contentOf(reply),
    stop_reason: stopReason(reply),
    usage: usageOf(reply),
  }),
  stream: streamFrames,
  error: (_status, type, message) => ({ type: 'error', error: { type, message } }),
};

function readMessage(message: { role: string; content: string | Block[] }): Message[] {
  const blocks = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
  if (message.role === 'assistant') return [{ role: 'assistant', text: blocks.map((b) => b.text ?? '').join('') }];
  if (message.role !== 'user') return [];
  const results = blocks.filter((block) => block.type === 'tool_result');
  if (results.length > 0) return results.map((block) => ({ role: 'tool', text: resultText(block) }));
  const text = blocks
    .map((block) => block.text ?? '')
    .filter((part) => !isInjected(part))
    .join('\n');
  return text ? [{ role: 'user', text }] : [];
}

function resultText(block: Block): string {
  if (typeof block.content === 'string') return block.content;
  return (block.content ?? []).map((part) => part.text ?? `[${part.type}]`).join('\n');
}

function head(on: Conversation, reply: Reply) {
  return {
    id: id('msg_'),
    type: 'message',
    role: 'assistant',
    model: on.model,
    content: [] as unknown[],
    stop_reason: null as string | null,
    stop_sequence: null,
    usage: { ...usageOf(reply), output_tokens: 1 },
  };
}

function contentOf(reply: Reply) {
  return [
    ...(reply.text ? [{ type: 'text', text: reply.text }] : []),
    ...reply.calls.map((call) => ({ type: 'tool_use', id: id('toolu_'), name: call.tool, input: call.input })),
  ];
}

function streamFrames(reply: Reply, on: Conversation): string[] {
  return [
    sse('message_start', { type: 'message_start', message: head(on, reply) }),
    ...contentOf(reply).flatMap((block, index) => blockFrames(block, index)),
    sse('message_delta', {
      type: 'message_delta',
      delta: { stop_reason: stopReason(reply), stop_sequence: null },
      usage: usageOf(reply),
    }),
    sse('message_stop', { type: 'message_stop' }),
  ];
}

function blockFrames(block: ReturnType<typeof contentOf>[number], index: number): string[] {
  const empty = 'text' in block ? { type: 'text', text: '' } : { ...block, input: {} };
  const deltas =
    'text' in block
      ? pieces(block.text).map((text) => ({ type: 'text_delta', text }))
      : pieces(JSON.stringify(block.input)).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
  return [
    sse('content_block_start', { type: 'content_block_start', index, content_block: empty }),
    ...deltas.map((delta) => sse('content_block_delta', { type: 'content_block_delta', index, delta })),
    sse('content_block_stop', { type: 'content_block_stop', index }),
  ];
}

const stopReason = (reply: Reply) => (reply.calls.length > 0 ? 'tool_use' : 'end_turn');

const usageOf = ({ usage }: Reply) => ({
  input_tokens: usage.input,
  cache_creation_input_tokens: usage.cacheWrite,
  cache_read_input_tokens: usage.cacheRead,
  output_tokens: usage.output,
});

const id = (prefix: string) => prefix + randomBytes(12).toString('hex');
