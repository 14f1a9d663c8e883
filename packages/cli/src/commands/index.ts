import type { AnyCommand } from '../define-command.ts';

/** One command as `drover --help` lists it. The file behind `load` has the rest. */
export interface CommandEntry {
  /** One word, or a group and a word: `plan validate`. */
  name: string;
  /** Arguments as commander reads them. */
  args: string;
  summary: string;
  load(): Promise<AnyCommand>;
}

/** All commands, in the order of help and docs. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'run',
    args: '<plan>',
    summary: 'Run a plan of tasks and follow it',
    load: async () => (await import('./run.ts')).command,
  },
  {
    name: 'spawn',
    args: '[prompt...]',
    summary: 'Run one task: a prompt for an agent, or a command after --',
    load: async () => (await import('./spawn.ts')).command,
  },
  {
    name: 'ls',
    args: '[refs...]',
    summary: 'List tasks',
    load: async () => (await import('./ls.ts')).command,
  },
  {
    name: 'status',
    args: '[ref]',
    summary: 'Show the fleet, or one task with its attempts',
    load: async () => (await import('./status.ts')).command,
  },
  {
    name: 'wait',
    args: '[refs...]',
    summary: 'Wait until tasks have ended',
    load: async () => (await import('./wait.ts')).command,
  },
  {
    name: 'logs',
    args: '<ref>',
    summary: 'Show what an agent wrote',
    load: async () => (await import('./logs.ts')).command,
  },
  {
    name: 'attach',
    args: '<ref>',
    summary: 'Join the terminal of a running agent',
    load: async () => (await import('./attach.ts')).command,
  },
  {
    name: 'stop',
    args: '<refs...>',
    summary: 'Stop tasks, or all of a plan with PLAN/',
    load: async () => (await import('./stop.ts')).command,
  },
  {
    name: 'diff',
    args: '<ref>',
    summary: 'Show what a task changed',
    load: async () => (await import('./diff.ts')).command,
  },
  {
    name: 'rm',
    args: '<refs...>',
    summary: 'Remove ended tasks and their result branches',
    load: async () => (await import('./rm.ts')).command,
  },
  {
    name: 'doctor',
    args: '',
    summary: 'Say what this machine can do, and what is missing',
    load: async () => (await import('./doctor.ts')).command,
  },
  {
    name: 'up',
    args: '',
    summary: 'Start the engine',
    load: async () => (await import('./up.ts')).command,
  },
  {
    name: 'down',
    args: '',
    summary: 'End the engine',
    load: async () => (await import('./down.ts')).command,
  },
  {
    name: 'plan validate',
    args: '<file>',
    summary: 'Check a plan without running it',
    load: async () => (await import('./plan-validate.ts')).command,
  },
  {
    name: 'config show',
    args: '',
    summary: 'Show the configuration in force and where each value comes from',
    load: async () => (await import('./config-show.ts')).command,
  },
  {
    name: 'mcp',
    args: '',
    summary: 'Serve the fleet to an agent as an MCP server on standard input and output',
    load: async () => (await import('./mcp.ts')).command,
  },
  {
    name: 'version',
    args: '',
    summary: 'Show the versions of drover and of the running engine',
    load: async () => (await import('./version.ts')).command,
  },
];
