import type { Conversation } from './conversation.ts';
import type { ScriptedUsage, ToolCall, Turn } from './script.ts';
import { fill } from './templates.ts';

/** What is answered, in no API's own form. */
export interface Reply {
  text: string;
  calls: ToolCall[];
  usage: Required<ScriptedUsage>;
}

/** How each client's shell tool is called. */
const SHELL_TOOLS: Record<string, (command: string) => Record<string, unknown>> = {
  Bash: (command) => ({ command, description: 'Run a command' }),
  bash: (command) => ({ command, description: 'Run a command' }),
  shell: (command) => ({ command: ['bash', '-lc', command] }),
  shell_command: (command) => ({ command }),
  exec_command: (cmd) => ({ cmd }),
  run_shell_command: (command) => ({ command, description: 'Run a command' }),
};

/** Makes the answer of a turn: templates filled, `shell` turned into a call, usage completed. */
export function replyOf(turn: Turn, conversation: Conversation, requestBytes: number): Reply {
  const { text, shell, tools } = fill({ text: turn.text, shell: turn.shell, tools: turn.tools }, conversation);
  const calls = [...(shell === undefined ? [] : [shellCall(shell, conversation.tools)]), ...(tools ?? [])];
  const words = text ?? (calls.length ? '' : 'done');
  const said = words.length + (calls.length ? JSON.stringify(calls).length : 0);
  return {
    text: words,
    calls,
    usage: {
      input: Math.ceil(requestBytes / 4),
      output: Math.max(1, Math.ceil(said / 4)),
      cacheRead: 0,
      cacheWrite: 0,
      ...turn.usage,
    },
  };
}

function shellCall(command: string, offered: readonly string[]): ToolCall {
  const tool = offered.find((name) => name in SHELL_TOOLS);
  if (!tool) throw new Error(`the client offers no shell tool that is known here: ${offered.join(', ')}`);
  return { tool, input: SHELL_TOOLS[tool]!(command) };
}
