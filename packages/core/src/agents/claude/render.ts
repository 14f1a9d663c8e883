import type { RenderedLine } from '../render.ts';
import { oneLine } from '../text.ts';
import { describeTool } from './activity.ts';
import { contentBlocks, number, readEvent, text } from './events.ts';
import { asObject, type JsonObject } from './json.ts';

const WIDTH = 400;

/** Lines for people from one event line. None for events that say nothing; a line that is no event is shown as it is. */
export function renderClaudeLine(line: string): RenderedLine[] {
  const event = readEvent(line);
  if (!event) return line.trim() ? [{ kind: 'text', text: oneLine(line, WIDTH) }] : [];
  return RENDERERS[event.type as string]?.(event) ?? [];
}

const RENDERERS: Readonly<Record<string, (event: JsonObject) => RenderedLine[]>> = {
  system: renderSystem,
  assistant: (event) => contentBlocks(event).flatMap(renderSaid),
  user: (event) => contentBlocks(event).flatMap(renderToolResult),
  rate_limit_event: renderRateLimit,
  result: renderResult,
};

function renderSystem(event: JsonObject): RenderedLine[] {
  if (event.subtype === 'init') {
    const version = text(event.claude_code_version);
    return [
      { kind: 'note', text: `session ${text(event.session_id)}, ${text(event.model)}, claude ${version ?? '?'}` },
    ];
  }
  if (event.subtype !== 'api_retry') return [];
  const seconds = Math.round((number(event.retry_delay_ms) ?? 0) / 1000);
  const status = number(event.error_status) ?? text(event.error) ?? '';
  return [{ kind: 'warning', text: `API error ${status}: retry ${number(event.attempt)} in ${seconds} s` }];
}

function renderSaid(block: ReturnType<typeof contentBlocks>[number]): RenderedLine[] {
  if (block.type === 'tool_use' && block.name)
    return [{ kind: 'tool', text: describeTool(block.name, block.input ?? {}) }];
  if (block.type === 'text' && block.text?.trim()) return [{ kind: 'text', text: oneLine(block.text, WIDTH) }];
  return [];
}

function renderToolResult(block: ReturnType<typeof contentBlocks>[number]): RenderedLine[] {
  if (block.type !== 'tool_result') return [];
  const said = oneLine(block.text ?? '', WIDTH / 2);
  return [{ kind: block.isError ? 'error' : 'result', text: said || '(no output)' }];
}

function renderRateLimit(event: JsonObject): RenderedLine[] {
  const info = asObject(event.rate_limit_info) ?? {};
  if (info.status === 'allowed') return [];
  const reset = number(info.resetsAt);
  const until = reset === undefined ? '' : `, resets ${new Date(reset < 1e11 ? reset * 1000 : reset).toISOString()}`;
  return [{ kind: 'warning', text: `rate limit ${text(info.status)}${until}` }];
}

function renderResult(event: JsonObject): RenderedLine[] {
  const failed = event.is_error !== false;
  const cost = number(event.total_cost_usd);
  const figures = [
    `${number(event.num_turns) ?? '?'} turns`,
    `${Math.round((number(event.duration_ms) ?? 0) / 1000)} s`,
    ...(cost === undefined ? [] : [`$${cost.toFixed(2)}`]),
  ];
  const words = failed ? `: ${oneLine(text(event.result) || String(event.subtype), WIDTH / 2)}` : '';
  return [
    { kind: failed ? 'error' : 'end', text: `${failed ? 'failed' : 'finished'} (${figures.join(', ')})${words}` },
  ];
}
