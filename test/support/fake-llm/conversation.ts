/** One message in no API's own form. */
export interface Message {
  role: 'user' | 'assistant' | 'tool';
  text: string;
}

/** A request, read from whatever wire it came by. */
export interface Conversation {
  model: string;
  stream: boolean;
  messages: Message[];
  /** Names of the tools that the client offers. */
  tools: string[];
  /** The newest text that a person wrote. */
  prompt: string;
  turnsSincePrompt: number;
}

/** Completes what a wire has read. */
export function conversation(model: string, stream: boolean, messages: Message[], tools: string[]): Conversation {
  const at = messages.findLastIndex((message) => message.role === 'user');
  return {
    model,
    stream,
    messages,
    tools,
    prompt: messages[at]?.text ?? '',
    turnsSincePrompt: messages.slice(at + 1).filter((message) => message.role === 'assistant').length,
  };
}

const INJECTED = /^(\s*<(system-reminder|session_context)\b[^>]*>[\s\S]*<\/\2>\s*)+$/;

/** Whether a text block was put in by the client itself, so that it is no prompt. */
export function isInjected(text: string): boolean {
  return text.trim() === '' || INJECTED.test(text);
}
