import type { Outcome } from '../../tasks/outcomes.ts';
import { oneLine } from '../text.ts';
import { number, text } from './events.ts';
import { asObject, type JsonObject } from './json.ts';

/** What the run has shown before its last event. */
export interface Seen {
  /** The API's own error word of the last message that was an error, e.g. `rate_limit`, `authentication_failed`. */
  apiError?: string;
  /** A rate limit that was `rejected`, not merely near. */
  rateLimitRejected: boolean;
  /** The last call of a tool was refused for want of a permission. */
  endedOnDenial: boolean;
}

/** A `result` event, with the few fields that say how it ended. */
export interface Ending {
  isError: boolean;
  /** `success` also where `is_error` is true: never decides by itself. */
  subtype: string;
  reason: string;
  apiStatus?: number;
  words: string;
  denials: string[];
}

interface EndingRow {
  readonly name: string;
  readonly when: (ending: Ending, seen: Seen) => boolean;
  /** `ok` is no outcome of a terminal event: exit status has a say in it too. */
  readonly outcome: Outcome;
  readonly detail?: string;
}

/** How a `result` event is understood. The first row that applies decides. */
const ENDINGS: readonly EndingRow[] = [
  {
    name: 'permission',
    when: ({ isError, denials }, seen) => !isError && denials.length > 0 && seen.endedOnDenial,
    outcome: 'permission_blocked',
    detail: 'Its last tool call was denied.',
  },
  { name: 'done', when: ({ isError }) => !isError, outcome: 'ok' },
  { name: 'turns', when: ({ subtype }) => subtype === 'error_max_turns', outcome: 'turn_limit' },
  { name: 'budget', when: ({ subtype }) => subtype === 'error_max_budget_usd', outcome: 'budget_exhausted' },
  {
    name: 'context',
    when: ({ reason, words }) => reason === 'prompt_too_long' || /^prompt is too long/i.test(words),
    outcome: 'context_exhausted',
  },
  {
    name: 'login',
    when: ({ apiStatus, words }, { apiError }) =>
      apiStatus === 401 ||
      apiError === 'authentication_failed' ||
      apiError === 'oauth_org_not_allowed' ||
      /^(not logged in|invalid api key)|oauth token (has expired|revoked)|please run \/login/i.test(words),
    outcome: 'auth_failed',
  },
  {
    name: 'rate limit',
    when: ({ apiStatus, words }, { apiError, rateLimitRejected }) =>
      apiStatus === 429 ||
      apiError === 'rate_limit' ||
      rateLimitRejected ||
      /usage limit reached|you've hit your .*limit/i.test(words),
    outcome: 'rate_limited',
  },
  {
    name: 'interrupted',
    when: ({ reason }) => reason.startsWith('aborted'),
    outcome: 'agent_error',
    detail: 'It was interrupted.',
  },
  { name: 'other', when: () => true, outcome: 'agent_error' },
];

/** Reads a `result` event. */
export function readEnding(event: JsonObject): Ending {
  const errors = Array.isArray(event.errors) ? event.errors.filter((item) => typeof item === 'string') : [];
  const status = number(event.api_error_status);
  return {
    isError: event.is_error !== false,
    subtype: text(event.subtype) ?? '',
    reason: text(event.terminal_reason) ?? '',
    ...(status === undefined ? {} : { apiStatus: status }),
    words: (text(event.result) || errors.join(' ')).trim(),
    denials: denialNames(event.permission_denials),
  };
}

function denialNames(denials: unknown): string[] {
  if (!Array.isArray(denials)) return [];
  return denials.map((denial) => text(asObject(denial)?.tool_name) ?? 'a tool');
}

/** Says what an ending means. */
export function classifyEnding(ending: Ending, seen: Seen): { outcome: Outcome; detail: string } {
  const row = ENDINGS.find((one) => one.when(ending, seen))!;
  if (row.outcome === 'ok') return { outcome: 'ok', detail: 'It said that it had finished.' };
  // Its words for an interruption are for its makers.
  const words = ending.words.startsWith('[ede_diagnostic]') ? '' : oneLine(ending.words, 300);
  const which =
    ending.denials.length > 0 && row.outcome === 'permission_blocked' ? ` (${ending.denials.join(', ')})` : '';
  return { outcome: row.outcome, detail: `${row.detail ?? ''}${which} ${words}`.trim() || ending.subtype };
}
