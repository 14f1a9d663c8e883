import { isAbsolute } from 'node:path';
import { DroverError } from '../../shared/errors.ts';
import { agentEnvironment, hasMounts } from '../environment.ts';
import { prepareHome } from '../home.ts';
import { toolchainView } from '../toolchain.ts';
import type { AgentAdapter, Launch, PrepareContext } from '../types.ts';
import { CAUSE_ROWS, decide, exitWords, type VerdictRow } from '../verdict.ts';
import { TailParser } from './tail-parser.ts';

const ROWS: readonly VerdictRow[] = [
  ...CAUSE_ROWS,
  {
    name: 'ok',
    when: ({ exit }) => exit.code === 0,
    verdict: () => ({ outcome: 'ok', detail: 'It exited with code 0.' }),
  },
  {
    name: 'agent_error',
    when: () => true,
    verdict: ({ report, exit }) => ({
      outcome: 'agent_error',
      detail: [exitWords(exit), report.activity && `Last line: ${report.activity}`].filter(Boolean).join(' '),
    }),
  },
];

/** Runs any program. Its exit code is its whole statement: there is no terminal event, and 0 is success. */
export const commandAdapter: AgentAdapter = {
  name: 'command',
  aliases: ['shell', 'exec'],
  title: 'Command',
  environment: [],
  takes: 'command',
  hasTerminalEvent: false,
  logFormat: 'text',
  detect: async () => ({ path: '', version: '', loggedIn: true, detail: 'Any program; nothing to install.' }),
  prepare,
  parser: () => new TailParser(),
  judge: (report, exit) => decide(ROWS, report, exit),
};

async function prepare(context: PrepareContext): Promise<Launch> {
  const argv = context.task.command ?? [];
  if (argv.length === 0) {
    throw new DroverError('agent_input', `Task ${context.task.id} has no command.`, 'Give it `command: [...]`.');
  }
  await prepareHome(context.homeDir, context.userHome);
  const program = argv[0]!;
  const tools = await toolchainView(context.env, context.userHome, isAbsolute(program) ? program : undefined);
  const mounted = hasMounts(context);
  return {
    argv: [...argv],
    env: { ...(mounted ? {} : tools.env), ...agentEnvironment(context, []) },
    tty: false,
    stderr: 'merge',
    mounts: mounted ? tools.mounts : [],
  };
}
