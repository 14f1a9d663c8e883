import type { Conversation } from './conversation.ts';

/** A call of one tool that the client offers. */
export interface ToolCall {
  tool: string;
  input: Record<string, unknown>;
}

/** Tokens that the answer claims to have used; what is absent is estimated from the lengths. */
export interface ScriptedUsage {
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
}

/** An API error instead of an answer. */
export interface ScriptedError {
  status: number;
  /** The API's own word for it, e.g. `overloaded_error`. */
  type?: string;
  message?: string;
  /** Answer so this many times, then as the rest of the turn says. Absent: always. */
  times?: number;
  headers?: Record<string, string>;
}

/** What the model answers once. Templates are filled in `text`, `shell` and the tools' input. */
export interface Turn {
  text?: string;
  /** One shell command, by whichever shell tool the client offers. */
  shell?: string;
  tools?: ToolCall[];
  usage?: ScriptedUsage;
  /** Milliseconds before the first byte. */
  delayMs?: number;
  /** Milliseconds between the chunks of a stream. */
  chunkMs?: number;
  error?: ScriptedError;
  /** Open the stream and never finish it. */
  hang?: boolean;
  /** Cut the connection in the middle of the stream. */
  drop?: boolean;
}

/** Turns for the conversations whose newest user prompt matches. */
export interface Scenario {
  /** Regular expression over the prompt, case-insensitive, `.` matches newlines. */
  match: string;
  turns: Turn[];
}

/** What the endpoint plays. */
export interface Script {
  scenarios?: Scenario[];
  /** When no scenario matches. */
  turns?: Turn[];
  /** Answer to requests without tools: titles, probes, summaries. */
  aux?: Turn;
}

export interface Choice {
  turn: Turn;
  /** Index in the scenario; -1 for a request without tools. */
  index: number;
  /** Names the turn for counting errors. */
  key: string;
}

const FALLBACK: Turn = { text: 'done' };

/**
 * The turn that is due. Its index is the number of assistant turns since the newest prompt, so nothing is kept between
 * requests: any number of agents share one endpoint, and resumed sessions go on where they were.
 * Past the last turn, the last turn that only speaks is repeated.
 */
export function chooseTurn(script: Script, conversation: Conversation): Choice {
  if (conversation.tools.length === 0) return { turn: script.aux ?? { text: 'ok' }, index: -1, key: 'aux' };
  const scenario = script.scenarios?.find((s) => new RegExp(s.match, 'is').test(conversation.prompt));
  const turns = scenario?.turns ?? script.turns ?? [FALLBACK];
  const index = conversation.turnsSincePrompt;
  return { turn: turns[index] ?? lastWords(turns), index, key: `${scenario?.match ?? ''}#${index}` };
}

function lastWords(turns: readonly Turn[]): Turn {
  const text = turns.findLast((turn) => turn.text && !turn.tools && !turn.shell)?.text;
  return text ? { text } : FALLBACK;
}
