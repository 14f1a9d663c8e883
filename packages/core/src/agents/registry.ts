import { DroverError } from '../shared/errors.ts';
import { claudeAdapter } from './claude/index.ts';
import { commandAdapter } from './command/index.ts';
import type { AgentAdapter } from './types.ts';

/** Every agent that can be run. */
export const AGENTS: readonly AgentAdapter[] = [commandAdapter, claudeAdapter];

/** Agents that people will ask for, so that the answer is not "unknown". */
const NOT_YET: Readonly<Record<string, string>> = {
  codex: 'Codex',
  'codex-cli': 'Codex',
  gemini: 'Gemini CLI',
  'gemini-cli': 'Gemini CLI',
  opencode: 'OpenCode',
  cursor: 'Cursor',
  'cursor-agent': 'Cursor',
  copilot: 'GitHub Copilot CLI',
  amp: 'Amp',
  aider: 'Aider',
};

/** Finds an adapter by its name or an alias. Throws `agent_unknown`. */
export function findAgent(name: string): AgentAdapter {
  const wanted = name.trim().toLowerCase();
  const found = AGENTS.find((agent) => agent.name === wanted || agent.aliases.includes(wanted));
  if (found) return found;
  const title = NOT_YET[wanted];
  const message = title ? `${title} is not available in this version.` : `There is no agent "${name}".`;
  throw new DroverError('agent_unknown', message, `Agents: ${AGENTS.map((agent) => agent.name).join(', ')}.`);
}
