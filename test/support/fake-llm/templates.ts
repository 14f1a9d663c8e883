import type { Conversation } from './conversation.ts';

const PLACE = /\{\{((?:(?!\}\}).)+)\}\}/gs;
const NUMBER = /^\{\{num:(.+)\}\}$/s;

/**
 * Fills `{{prompt}}`, `{{turn}}`, `{{last_tool_result}}`, `{{env.NAME}}` and `{{re:REGEX}}` (group 1 of the last match in
 * the conversation) in every string of a value. A string that is `{{num:REGEX}}` becomes the number that was matched.
 */
export function fill<T>(value: T, conversation: Conversation): T {
  return fillAny(value, conversation) as T;
}

function fillAny(value: unknown, on: Conversation): unknown {
  if (typeof value === 'string') return fillText(value, on);
  if (Array.isArray(value)) return value.map((item) => fillAny(item, on));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillAny(item, on)]));
}

function fillText(text: string, on: Conversation): string | number {
  const number = NUMBER.exec(text)?.[1];
  if (number) return Number(lastMatch(number, on));
  return text.replace(PLACE, (_, name: string) => lookUp(name, on));
}

function lookUp(name: string, on: Conversation): string {
  if (name === 'prompt') return on.prompt;
  if (name === 'turn') return String(on.turnsSincePrompt);
  if (name === 'last_tool_result') return on.messages.findLast((message) => message.role === 'tool')?.text ?? '';
  if (name.startsWith('env.')) return process.env[name.slice(4)] ?? '';
  if (name.startsWith('re:')) return lastMatch(name.slice(3), on);
  return '';
}

function lastMatch(pattern: string, on: Conversation): string {
  const expression = new RegExp(pattern, 'gs');
  for (const message of on.messages.toReversed()) {
    const match = [...message.text.matchAll(expression)].at(-1);
    if (match) return match[1] ?? match[0];
  }
  return '';
}
