import type { Outcome } from '../../../packages/core/src/tasks/outcomes.ts';
import type { Script } from '../fake-llm/index.ts';

/** One transcript to be recorded from the real Claude Code. */
export interface Scenario {
  name: string;
  script: Script;
  /** What the adapter must make of it. */
  outcome: Outcome;
  /** Facts that the parser must find. */
  report?: Record<string, unknown>;
  task?: { maxTurns?: number; maxBudgetUsd?: number };
  /** An empty value takes a variable away. */
  env?: Record<string, string>;
  /** settings.json of the user. */
  settings?: Record<string, unknown>;
  /** Sent once the text has been seen in the output. */
  signal?: { name: 'SIGTERM' | 'SIGINT' | 'SIGKILL'; after: string };
  /** What the keeper would say of the end. */
  cause?: 'exit' | 'stop' | 'timeout_wall' | 'timeout_idle';
}

const ONE_RETRY = { CLAUDE_CODE_MAX_RETRIES: '1' };

/** A long-running command. Claude Code refuses a bare `sleep`. */
const LONG_COMMAND = 'echo begin; timeout 60 tail -f /dev/null';

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'ok-commit',
    outcome: 'ok',
    report: {
      model: 'claude-opus-5-5',
      summary: 'Added hello.txt and committed it.',
      activity: 'Added hello.txt and committed it.',
      usage: { inputTokens: 3050, outputTokens: 82, cacheReadTokens: 300, cacheWriteTokens: 20, turns: 3 },
      notes: [],
    },
    script: {
      turns: [
        {
          text: 'I will write the file.',
          tools: [{ tool: 'Write', input: { file_path: '{{env.RECORD_CWD}}/hello.txt', content: 'hello\n' } }],
          usage: { input: 1200, output: 40, cacheRead: 300, cacheWrite: 20 },
        },
        {
          shell: 'git add hello.txt && git commit -qm "Add hello" && git log --oneline | wc -l',
          usage: { input: 900, output: 30 },
        },
        { text: 'Added hello.txt and committed it.', usage: { input: 950, output: 12 } },
      ],
    },
  },
  {
    name: 'api-error',
    outcome: 'agent_error',
    env: ONE_RETRY,
    script: { turns: [{ error: { status: 529, type: 'overloaded_error', message: 'Overloaded' } }] },
  },
  {
    name: 'rate-limit-then-ok',
    outcome: 'ok',
    report: { notes: ['retried requests: 2, the last for API 429'] },
    script: {
      turns: [
        {
          text: 'Done after all.',
          error: {
            status: 429,
            type: 'rate_limit_error',
            message: 'Too many requests',
            times: 2,
            headers: { 'retry-after': '1' },
          },
        },
      ],
    },
  },
  {
    name: 'rate-limit',
    outcome: 'rate_limited',
    env: ONE_RETRY,
    script: {
      turns: [
        {
          error: {
            status: 429,
            type: 'rate_limit_error',
            message: 'Too many requests',
            headers: { 'retry-after': '1' },
          },
        },
      ],
    },
  },
  {
    name: 'rate-limit-of-subscription',
    outcome: 'rate_limited',
    report: { rateLimitResetMs: 1_893_456_000_000 },
    env: { ...ONE_RETRY, ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-scripted' },
    script: {
      turns: [
        {
          error: {
            status: 429,
            type: 'rate_limit_error',
            message: 'This request would exceed your account rate limit.',
            headers: {
              'anthropic-ratelimit-unified-status': 'rejected',
              'anthropic-ratelimit-unified-reset': '1893456000',
              'anthropic-ratelimit-unified-representative-claim': 'five_hour',
              'anthropic-ratelimit-unified-overage-status': 'rejected',
            },
          },
        },
      ],
    },
  },
  {
    name: 'auth-failed',
    outcome: 'auth_failed',
    env: ONE_RETRY,
    script: { turns: [{ error: { status: 401, type: 'authentication_error', message: 'invalid x-api-key' } }] },
  },
  {
    name: 'max-turns',
    outcome: 'turn_limit',
    task: { maxTurns: 2 },
    script: { turns: [{ shell: 'echo 1' }, { shell: 'echo 2' }, { shell: 'echo 3' }, { text: 'never said' }] },
  },
  {
    name: 'budget',
    outcome: 'budget_exhausted',
    task: { maxBudgetUsd: 0.01 },
    script: { turns: [{ shell: 'echo 1', usage: { input: 100_000, output: 1000 } }, { text: 'never said' }] },
  },
  {
    name: 'prompt-too-long',
    outcome: 'context_exhausted',
    script: {
      turns: [
        {
          error: {
            status: 400,
            type: 'invalid_request_error',
            message: 'prompt is too long: 1100000 tokens > 1000000 maximum',
          },
        },
      ],
    },
  },
  {
    name: 'permission-denied',
    outcome: 'permission_blocked',
    settings: { permissions: { deny: ['Bash(git push:*)'] } },
    script: { turns: [{ shell: 'git push origin main' }, { text: 'I may not push, so I stop here.' }] },
  },
  {
    name: 'permission-worked-around',
    outcome: 'ok',
    report: { notes: ['denied tool calls: 1'] },
    settings: { permissions: { deny: ['Bash(git push:*)'] } },
    script: {
      turns: [{ shell: 'git push origin main' }, { shell: 'echo another way' }, { text: 'Found another way.' }],
    },
  },
  {
    name: 'sigterm',
    outcome: 'cancelled',
    cause: 'stop',
    signal: { name: 'SIGTERM', after: '"tool_use"' },
    script: { turns: [{ shell: LONG_COMMAND }, { text: 'never said' }] },
  },
  {
    name: 'sigterm-from-elsewhere',
    outcome: 'no_result',
    signal: { name: 'SIGTERM', after: '"tool_use"' },
    script: { turns: [{ shell: LONG_COMMAND }, { text: 'never said' }] },
  },
  {
    name: 'sigint',
    outcome: 'agent_error',
    signal: { name: 'SIGINT', after: '"tool_use"' },
    script: { turns: [{ shell: LONG_COMMAND }, { text: 'never said' }] },
  },
  {
    name: 'hang',
    outcome: 'timeout_idle',
    report: { activity: 'Bash: echo before' },
    cause: 'timeout_idle',
    signal: { name: 'SIGKILL', after: '"tool_use"' },
    script: { turns: [{ shell: 'echo before' }, { text: 'x'.repeat(400), hang: true }] },
  },
  {
    name: 'dropped-stream',
    outcome: 'agent_error',
    env: ONE_RETRY,
    script: { turns: [{ text: 'x'.repeat(400), drop: true }] },
  },
];
