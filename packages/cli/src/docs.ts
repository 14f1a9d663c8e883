import type { Command } from 'commander';
import { COMMANDS } from './commands/index.ts';
import { exitCodesHelp } from './exit-codes.ts';
import { Output } from './output.ts';
import { buildProgram } from './program.ts';

const WIDTH = 100;

const INTRO = `# The command line

Made from the tables in \`packages/cli/src\`; what each command says with \`--help\` stands below.

A task is named \`PLAN/TASK\`, or \`TASK\` alone where that is unique; \`PLAN/\` is all of a plan; \`REPOSITORY:\` before it says in which
repository, where two have a plan of one name. A task that was spawned by itself is of the plan \`solo\`.

The engine is started by the first command that needs one (\`run\`, \`spawn\`, \`up\`, \`mcp\`), in a session of its own, and outlives it. It ends by
\`drover down\`. Its log is \`engine.log\` in the state directory.

## Ctrl-C

Leaving a view never stops an agent: agents belong to the engine, not to the terminal. Ctrl-C in \`run\`, \`spawn\` and \`wait\` ends the command at once
with exit code 130 and says how to follow the tasks again (\`drover wait PLAN/\`) and how to stop them (\`drover stop PLAN/\`). In \`attach\` Ctrl-C goes to the
agent; Ctrl-] leaves.

## Output

- On a terminal \`run\`, \`spawn\` and \`wait\` redraw one table in place; in a pipe or a log they write one line an event. Both end with the table of outcomes.
- \`--json\` gives one JSON document on standard output and nothing else. \`run\`, \`spawn\` (without \`-d\`) and \`logs\` give one JSON value a line:
  \`{"submitted": ...}\`, then \`{"event": ...}\` for each event, then \`{"result": ...}\`; for logs \`{"source": ..., "line": ...}\`.
- Errors go to standard error: a line and what to do, with \`--json\` as \`{"error": {"code", "message", "hint"}}\`.
- Names and whatever agents wrote are stripped of control characters, so that they cannot steer the terminal. Only \`attach\`, \`logs --raw\` and a
  \`diff\` into a pipe pass bytes on as they are.
- \`NO_COLOR\`, \`FORCE_COLOR\` and \`COLUMNS\` are heeded.

## Environment

- \`DROVER_STATE_DIR\`: the state directory (default \`$XDG_STATE_HOME/drover\`, else \`~/.local/state/drover\`). Each has an engine of its own.
- \`DROVER_HELPER_SOCKET\`: the helper's socket (default \`/run/drover/helper.sock\`).
- \`DROVER_LIBEXEC\`: where the compiled programs are (default: the checkout's build).
- \`DROVER_DETACH_KEY\`: the key that leaves \`attach\` (default \`ctrl-]\`).
- \`DROVER_DEBUG=1\`: errors of drover itself with the place in the code.

## Exit codes
`;

/** The page docs/cli.md. */
export async function cliPage(): Promise<string> {
  const captured: string[] = [];
  const sink = { write: (text: string) => captured.push(text) > 0, writableLength: 0 } as unknown as NodeJS.WriteStream;
  const out = new Output(sink, sink, { COLUMNS: String(WIDTH) }, false);
  const program = await buildProgram(
    () => true,
    out,
    async () => {},
  );
  const sections = COMMANDS.map(({ name }) => {
    captured.length = 0;
    find(program, name).outputHelp();
    return `## drover ${name}\n\n${fence(captured.join(''))}`;
  });
  const codes = exitCodesHelp()
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .join('\n');
  return `${[INTRO + fence(codes).replace(/^/, '\n'), ...sections].join('\n\n')}\n`;
}

function find(program: Command, name: string): Command {
  return name.split(' ').reduce((parent, word) => parent.commands.find((c) => c.name() === word) as Command, program);
}

const fence = (text: string) => `\`\`\`text\n${text.trim()}\n\`\`\``;
