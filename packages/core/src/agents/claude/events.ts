import { asObject, type JsonObject } from './json.ts';

/**
 * The event lines of `--output-format stream-json`, read with tolerance: unknown types and missing fields are normal, since
 * every release adds some. Only what is used is named.
 */
export interface ContentBlock {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: JsonObject;
  toolUseId?: string;
  isError?: boolean;
}

/** A line as an event, or null when it is none. */
export function readEvent(line: string): JsonObject | null {
  if (!line.startsWith('{')) return null;
  try {
    const event = asObject(JSON.parse(line));
    return typeof event?.type === 'string' ? event : null;
  } catch {
    return null;
  }
}

/** The content of an `assistant` or `user` event. */
export function contentBlocks(event: JsonObject): ContentBlock[] {
  const content = asObject(event.message)?.content;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((item) => {
    const block = asObject(item);
    return block ? [readBlock(block)] : [];
  });
}

function readBlock(block: JsonObject): ContentBlock {
  const read: ContentBlock = { type: text(block.type) ?? '' };
  const said = text(block.text) ?? text(block.thinking) ?? resultText(block.content);
  const input = asObject(block.input);
  const [id, name, toolUseId] = [text(block.id), text(block.name), text(block.tool_use_id)];
  if (said !== undefined) read.text = said;
  if (id) read.id = id;
  if (name) read.name = name;
  if (input) read.input = input;
  if (toolUseId) read.toolUseId = toolUseId;
  if (block.is_error === true) read.isError = true;
  return read;
}

/** A tool's result is a text or a list of blocks. */
function resultText(content: unknown): string | undefined {
  if (!Array.isArray(content)) return text(content);
  return content.map((part) => text(asObject(part)?.text) ?? '').join('\n');
}

/** A string, or undefined. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A finite number, or undefined. */
export function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
