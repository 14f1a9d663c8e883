import type { AgentAdapter } from '../types.ts';
import { findLogin, publishAccount } from './credentials.ts';
import { detectClaude } from './detect.ts';
import { KEPT_VARIABLES } from './manifest.ts';
import { ClaudeParser } from './parser.ts';
import { prepareClaude } from './prepare.ts';
import { judgeClaude } from './verdict.ts';

/** Claude Code, one headless turn per attempt (`claude -p` with stream-json). */
export const claudeAdapter: AgentAdapter = {
  name: 'claude',
  aliases: ['claude-code', 'claude_code'],
  title: 'Claude Code',
  environment: KEPT_VARIABLES,
  takes: 'prompt',
  hasTerminalEvent: true,
  logFormat: 'claude-stream-json',
  detect: detectClaude,
  prepare: prepareClaude,
  async refreshAccount(context) {
    const login = await findLogin(context.env, context.userHome);
    return login.kind === 'account' ? publishAccount(context) : null;
  },
  parser: () => new ClaudeParser(),
  judge: judgeClaude,
};
