import { oneLine } from '../text.ts';
import { text } from './events.ts';
import type { JsonObject } from './json.ts';

/** Which of a tool's inputs says what it does. Tools without a row show the first text among theirs. */
const TELLING_INPUT: Readonly<Record<string, string>> = {
  Bash: 'command',
  Read: 'file_path',
  Write: 'file_path',
  Edit: 'file_path',
  NotebookEdit: 'notebook_path',
  Glob: 'pattern',
  Grep: 'pattern',
  Task: 'description',
  Agent: 'description',
  WebFetch: 'url',
  WebSearch: 'query',
  Skill: 'skill',
};

/** One line for a call of a tool: `Bash: npm test`, `Write src/x.ts`. Paths in the worktree are shown from there. */
export function describeTool(name: string, input: JsonObject, cwd?: string): string {
  const key = TELLING_INPUT[name];
  const told = key ? text(input[key]) : Object.values(input).map(text).find(Boolean);
  if (!told) return name;
  const isPath = key?.endsWith('_path');
  return oneLine(isPath ? `${name} ${fromWorktree(told, cwd)}` : `${name}: ${told}`);
}

function fromWorktree(path: string, cwd?: string): string {
  return cwd && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}
