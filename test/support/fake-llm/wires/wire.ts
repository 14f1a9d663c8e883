import type { Conversation } from '../conversation.ts';
import type { Reply } from '../reply.ts';

/** One vendor's API: how a request is read and an answer is written. Nothing else knows a vendor's words. */
export interface Wire {
  readonly name: string;
  /** Whether a POST to this path is answered by a model here. */
  serves(path: string): boolean;
  /** A POST that is answered without a model, or undefined. */
  side(path: string, bytes: number): unknown;
  read(path: string, body: Record<string, unknown>): Conversation;
  /** The answer in one piece. */
  whole(reply: Reply, conversation: Conversation): unknown;
  /** The answer as the frames of a server-sent-event stream. */
  stream(reply: Reply, conversation: Conversation): string[];
  error(status: number, type: string, message: string): unknown;
}

/** One server-sent event. */
export function sse(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A text in the chunks that a stream would bring it in. */
export function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,24}/g) ?? [];
}
