import type { Outcome } from '../../tasks/outcomes.ts';
import { LineReader } from '../lines.ts';
import { oneLine } from '../text.ts';
import type { AgentReport, OutputParser, Usage } from '../types.ts';
import { describeTool } from './activity.ts';
import { type ContentBlock, contentBlocks, number, readEvent, text } from './events.ts';
import { asObject, type JsonObject } from './json.ts';
import { classifyEnding, readEnding, type Seen } from './terminal.ts';

const MAX_SUMMARY = 16 * 1024;

/** What is counted for the log. */
type Counted = 'noise' | 'long' | 'retries' | 'denials';

/** Understands the event lines of `claude -p --output-format stream-json`. Memory does not grow with the run. */
export class ClaudeParser implements OutputParser {
  readonly #usage: Usage = {};
  readonly #counts: Record<Counted, number> = { noise: 0, long: 0, retries: 0, denials: 0 };
  readonly #seen: Seen = { rateLimitRejected: false, endedOnDenial: false };
  readonly #facts: Pick<AgentReport, 'sessionId' | 'model' | 'summary' | 'activity' | 'rateLimitResetMs'> = {};
  readonly #lines: LineReader;
  #terminal: { outcome: Outcome; detail: string } | undefined;
  #lastRetry = '';
  #lastCall = '';
  #cwd: string | undefined;

  constructor(maxLine?: number) {
    const dropped = () => {
      this.#counts.long++;
    };
    this.#lines = new LineReader((line) => this.#take(line), dropped, maxLine);
  }

  push(bytes: Uint8Array): void {
    this.#lines.push(bytes);
  }

  end(): void {
    this.#lines.end();
  }

  report(): AgentReport {
    const terminal = this.#terminal;
    return {
      ...this.#facts,
      ...(terminal ? { terminal: { ok: terminal.outcome === 'ok', ...terminal } } : {}),
      usage: { ...this.#usage },
      notes: this.#notes(),
    };
  }

  #take(line: string): void {
    if (!line.trim()) return;
    const event = readEvent(line);
    if (!event) {
      this.#counts.noise++;
      return;
    }
    const session = text(event.session_id);
    if (session) this.#facts.sessionId = session;
    this.#handlers[event.type as string]?.(event);
  }

  readonly #handlers: Readonly<Record<string, (event: JsonObject) => void>> = {
    system: (event) => this.#system(event),
    assistant: (event) => this.#assistant(event),
    user: (event) => this.#user(event),
    rate_limit_event: (event) => this.#rateLimit(event),
    result: (event) => this.#result(event),
  };

  #system(event: JsonObject): void {
    if (event.subtype === 'init') {
      this.#facts.model ??= text(event.model) ?? '';
      this.#cwd = text(event.cwd);
    } else if (event.subtype === 'api_retry') {
      this.#counts.retries++;
      this.#lastRetry = `API ${number(event.error_status) ?? text(event.error) ?? 'error'}`;
      this.#facts.activity = `Waiting: ${this.#lastRetry}, retry ${number(event.attempt) ?? '?'} of ${number(event.max_retries) ?? '?'}`;
    }
  }

  #assistant(event: JsonObject): void {
    const error = text(event.error);
    if (error) this.#seen.apiError = error;
    else delete this.#seen.apiError;
    // It went on after a result (a background task came home): that one was not the last.
    if (!text(event.parent_tool_use_id)) this.#terminal = undefined;
    for (const block of contentBlocks(event)) this.#said(block);
  }

  #said(block: ContentBlock): void {
    if (block.type === 'tool_use' && block.name) {
      this.#facts.activity = describeTool(block.name, block.input ?? {}, this.#cwd);
      this.#lastCall = block.id ?? '';
      this.#seen.endedOnDenial = false;
    } else if (block.type === 'text' && block.text) {
      this.#facts.activity = oneLine(block.text);
    }
  }

  #user(event: JsonObject): void {
    for (const block of contentBlocks(event)) {
      if (block.type !== 'tool_result' || !block.isError || !isDenial(block.text)) continue;
      this.#counts.denials++;
      if (block.toolUseId === this.#lastCall) this.#seen.endedOnDenial = true;
    }
  }

  #rateLimit(event: JsonObject): void {
    const info = asObject(event.rate_limit_info) ?? {};
    this.#seen.rateLimitRejected = info.status === 'rejected';
    const reset = number(info.resetsAt);
    if (!this.#seen.rateLimitRejected || reset === undefined) return;
    // Seconds since the epoch; milliseconds are told from them by their size.
    this.#facts.rateLimitResetMs = reset < 1e11 ? reset * 1000 : reset;
  }

  #result(event: JsonObject): void {
    const ending = readEnding(event);
    this.#readUsage(event);
    this.#noteDenials(event, ending.denials.length);
    this.#facts.summary = ending.words.slice(0, MAX_SUMMARY);
    this.#terminal = classifyEnding(ending, this.#seen);
  }

  #noteDenials(event: JsonObject, count: number): void {
    this.#counts.denials = Math.max(this.#counts.denials, count);
    if (count === 0) return;
    const last = asObject((event.permission_denials as unknown[]).at(-1));
    if (text(last?.tool_use_id) === this.#lastCall) this.#seen.endedOnDenial = true;
  }

  #readUsage(event: JsonObject): void {
    const used = asObject(event.usage) ?? {};
    const read: Record<keyof Usage, number | undefined> = {
      inputTokens: number(used.input_tokens),
      outputTokens: number(used.output_tokens),
      cacheReadTokens: number(used.cache_read_input_tokens),
      cacheWriteTokens: number(used.cache_creation_input_tokens),
      costUsd: number(event.total_cost_usd),
      turns: number(event.num_turns),
    };
    for (const [key, value] of Object.entries(read)) if (value !== undefined) this.#usage[key as keyof Usage] = value;
    const model = mainModel(event.modelUsage);
    if (model) this.#facts.model = model;
  }

  #notes(): string[] {
    const { noise, long, retries, denials } = this.#counts;
    return [
      noise && `lines that were no events: ${noise}`,
      long && `lines too long to be read: ${long}`,
      retries && `retried requests: ${retries}, the last for ${this.#lastRetry}`,
      denials && `denied tool calls: ${denials}`,
    ].filter((note) => typeof note === 'string');
  }
}

const DENIAL = /requested permissions? |permission to use .* (has been|was) denied|haven't granted it yet|denied by/i;

function isDenial(said: string | undefined): boolean {
  return said !== undefined && DENIAL.test(said.slice(0, 500));
}

/** The model that wrote most: small ones do side work. */
function mainModel(usage: unknown): string | undefined {
  const models = Object.entries(asObject(usage) ?? {});
  const written = (entry: [string, unknown]) => number(asObject(entry[1])?.outputTokens) ?? 0;
  return models.sort((a, b) => written(b) - written(a))[0]?.[0];
}
