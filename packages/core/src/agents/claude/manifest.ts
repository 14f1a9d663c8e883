import type { PrepareContext } from '../types.ts';

/** The line of Claude Code that the arguments, files and fixtures here were checked against. */
export const CHECKED_VERSION = '2.1.332';

/** Arguments of one headless turn: each row is a flag, and its value from the context, if it has one. */
export interface Argument {
  readonly flag: string;
  /** `true` is a flag without a value; undefined leaves it out. */
  readonly value: (context: PrepareContext, session: Session) => string | true | undefined;
}

export interface Session {
  id: string;
  /** True when the id is of an earlier attempt's session. */
  resume: boolean;
}

const always = () => true as const;

export const ARGUMENTS: readonly Argument[] = [
  { flag: '-p', value: always },
  { flag: '--output-format', value: () => 'stream-json' },
  { flag: '--verbose', value: always },
  { flag: '--session-id', value: (_, session) => (session.resume ? undefined : session.id) },
  { flag: '--resume', value: (_, session) => (session.resume ? session.id : undefined) },
  // The sandbox is the permission. It refuses this as uid 0, which no agent is.
  { flag: '--dangerously-skip-permissions', value: always },
  // Nobody is there to answer.
  { flag: '--disallowedTools', value: () => 'AskUserQuestion' },
  { flag: '--model', value: ({ task }) => task.model },
  { flag: '--max-turns', value: ({ task }) => task.maxTurns?.toString() },
  { flag: '--max-budget-usd', value: ({ task }) => task.maxBudgetUsd?.toString() },
];

/** Puts the table into argv. */
export function argumentsFor(context: PrepareContext, session: Session): string[] {
  return ARGUMENTS.flatMap(({ flag, value }) => {
    const given = value(context, session);
    if (given === undefined) return [];
    return given === true ? [flag] : [flag, given];
  });
}

/** Variables that log in by themselves, strongest first, with what they are. */
export const TOKEN_VARIABLES: Readonly<Record<string, string>> = {
  ANTHROPIC_AUTH_TOKEN: 'a bearer token',
  ANTHROPIC_API_KEY: 'an API key',
  CLAUDE_CODE_OAUTH_TOKEN: 'a long-lived token of `claude setup-token`',
};

/**
 * What of a submission's environment is Claude Code's. Everything else of `CLAUDE_CODE_*` and `CLAUDECODE` stays behind:
 * it says that a session runs inside another, and the inner one refuses.
 */
export const KEPT_VARIABLES: readonly string[] = [
  'ANTHROPIC_*',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_MAX_OUTPUT_TOKENS',
  'CLAUDE_CODE_MAX_RETRIES',
  'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC',
  'CLAUDE_CODE_SUBAGENT_MODEL',
  'CLAUDE_CODE_EFFORT_LEVEL',
  'API_TIMEOUT_MS',
  'BASH_DEFAULT_TIMEOUT_MS',
  'BASH_MAX_TIMEOUT_MS',
  'BASH_MAX_OUTPUT_LENGTH',
  'MAX_THINKING_TOKENS',
  'MAX_MCP_OUTPUT_TOKENS',
  'MCP_TIMEOUT',
  'MCP_TOOL_TIMEOUT',
  'DISABLE_TELEMETRY',
  'DISABLE_ERROR_REPORTING',
  'DISABLE_PROMPT_CACHING',
];

/** Set always. */
export const SET_VARIABLES: Readonly<Record<string, string>> = {
  // Many at once would each replace the one installation.
  DISABLE_AUTOUPDATER: '1',
};

/** Ways to reach models that need credentials of a cloud's own; no sandbox is given those in this version. */
export const UNSUPPORTED_PROVIDERS: Readonly<Record<string, string>> = {
  CLAUDE_CODE_USE_BEDROCK: 'Amazon Bedrock',
  CLAUDE_CODE_USE_VERTEX: 'Google Vertex AI',
  CLAUDE_CODE_USE_FOUNDRY: 'Microsoft Foundry',
};

/** What comes along from the user's configuration directory: files and directories of instructions. */
export const USER_FILES: readonly string[] = [
  'CLAUDE.md',
  'agents',
  'commands',
  'hooks',
  'output-styles',
  'rules',
  'skills',
];

/** Keys of settings.json that stay behind, and why. */
export const DROPPED_SETTINGS: Readonly<Record<string, string>> = {
  enabledPlugins: 'plugins are not in the private home and would be downloaded by each agent',
  extraKnownMarketplaces: 'as above',
  sandbox: "Claude Code's own sandbox needs user namespaces, which a sandbox here does not nest",
  statusLine: 'there is no line to show it on',
};

/** Keys of `.claude.json` that come along. Project history, MCP servers and what they hold do not. */
export const KEPT_STATE: readonly string[] = [
  'oauthAccount',
  'userID',
  'theme',
  'lastOnboardingVersion',
  'customApiKeyResponses',
];
