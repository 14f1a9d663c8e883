import { connectEngine, DROVER_VERSION, DroverError, type EngineApi } from '@drover/core/client';
import { Command, CommanderError, Option } from 'commander';
import { COMMANDS, type CommandEntry } from './commands/index.ts';
import type { AnyCommand, Context } from './define-command.ts';
import { EXIT_CODES, exitCodesHelp } from './exit-codes.ts';
import { Output, type Sink } from './output.ts';
import { printError } from './print-error.ts';

export interface Invocation {
  /** Words after `drover`. */
  argv: string[];
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  stdout: Sink;
  stderr: Sink;
  interrupted: AbortSignal;
}

/** Runs one command line and resolves with its exit code. Only the command that was asked for is loaded. */
export async function runCli(call: Invocation): Promise<number> {
  const dashes = call.argv.indexOf('--');
  const own = dashes < 0 ? call.argv : call.argv.slice(0, dashes);
  const out = new Output(call.stdout, call.stderr, call.env, own.includes('--json'));
  let code: number = EXIT_CODES.ok.code;
  const program = await buildProgram(loaderFor(own), out, async (command, args, options) => {
    const { context, close } = contextOf(call, out, dashes < 0 ? null : call.argv.slice(dashes + 1));
    try {
      code = (await command.run(context, args, options)) ?? EXIT_CODES.ok.code;
    } finally {
      await close();
    }
  });
  try {
    await program.parseAsync(call.argv, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return report(error, out, call);
    if (error.exitCode === 0) return EXIT_CODES.ok.code;
    if (error.code === 'commander.help' && !out.json) {
      // No command was given.
      out.stderr.write(helpOf(program, own));
      return EXIT_CODES.usage.code;
    }
    return printError(new DroverError('usage', usageText(error), usageHint(own)), out);
  }
}

function report(error: unknown, out: Output, call: Invocation): number {
  if (call.env.DROVER_DEBUG && error instanceof Error) out.stderr.write(`${error.stack}\n`);
  return printError(error, out);
}

/** Help of a group such as `plan`, or of the whole. */
function helpOf(program: Command, argv: string[]): string {
  const word = argv.find((each) => !each.startsWith('-'));
  return (program.commands.find((command) => command.name() === word) ?? program).helpInformation();
}

function usageText({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'no command was given';
  return message.replace(/^error: /, '').replace('\n', ' ');
}

function usageHint(argv: string[]): string {
  const entry = COMMANDS.find((c) => c.name === argv[0] || c.name === argv.slice(0, 2).join(' '));
  return `See: drover ${entry ? `${entry.name} ` : ''}--help`;
}

function contextOf(call: Invocation, out: Output, afterDashes: string[] | null) {
  let api: EngineApi | undefined;
  const context: Context = {
    env: call.env,
    cwd: call.cwd,
    out,
    afterDashes,
    interrupted: call.interrupted,
    async engine(options = {}) {
      api ??= await connectEngine({ env: call.env, start: options.start ?? false });
      return api;
    },
  };
  return { context, close: async () => await api?.close() };
}

type Handler = (command: AnyCommand, args: string[], options: Record<string, unknown>) => Promise<void>;
/** Whether to load this command for the whole of its options, or to list it only. */
export type Wanted = (entry: CommandEntry) => boolean;

/** The command named first, whatever options stand before it; `help X` needs X. */
function loaderFor(argv: string[]): Wanted {
  const words = argv.filter((word) => !word.startsWith('-'));
  const first = words[0] === 'help' ? words[1] : words[0];
  return (entry) => entry.name.split(' ')[0] === first;
}

/** The whole tree of commands, of which `wanted` ones have their options. */
export async function buildProgram(wanted: Wanted, out: Output, handle: Handler): Promise<Command> {
  const program = common(new Command('drover'), out)
    .description('Run many coding agents on one machine, each in its own worktree and sandbox.')
    .version(DROVER_VERSION, '-V, --version')
    .addHelpText('after', `\n${exitCodesHelp()}`)
    .addHelpText(
      'after',
      '\nEvery command but attach takes --json. A task is named PLAN/TASK, or TASK alone where that is unique; PLAN/ is all of a plan.',
    );
  for (const entry of COMMANDS) {
    const parent = parentOf(program, entry, out);
    const command = common(parent.command(`${entry.name.split(' ').at(-1)} ${entry.args}`.trim()), out);
    command.summary(entry.summary).description(entry.summary);
    if (wanted(entry)) fill(command, entry, await entry.load(), handle);
  }
  return program;
}

function common(command: Command, out: Output): Command {
  return command
    .exitOverride()
    .helpOption('-h, --help', 'Show this help')
    .helpCommand(false)
    .configureHelp({ helpWidth: out.width ?? 100, subcommandTerm: (sub) => `${sub.name()} ${argumentsOf(sub)}`.trim() })
    .configureOutput({ writeOut: (text) => out.stdout.write(text), writeErr: () => {} })
    .addOption(new Option('--json', 'JSON on standard output, errors as JSON on standard error').hideHelp());
}

function argumentsOf(command: Command): string {
  const own = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [...own, ...command.commands.map((sub) => sub.name())].join(' ');
}

const GROUPS: Readonly<Record<string, string>> = { plan: 'Check plans', config: 'Show the configuration' };

/** `plan validate` hangs under a command `plan`. */
function parentOf(program: Command, entry: CommandEntry, out: Output): Command {
  const [group, rest] = entry.name.split(' ');
  if (!rest || !group) return program;
  const there = program.commands.find((c) => c.name() === group);
  return there ?? common(program.command(group), out).description(GROUPS[group] ?? group);
}

function fill(command: Command, entry: CommandEntry, spec: AnyCommand, handle: Handler): void {
  command.description(spec.description ? `${entry.summary}\n\n${spec.description}` : entry.summary);
  for (const option of spec.options ?? []) {
    const made = new Option(option.flags, option.description);
    if (option.parse) made.argParser(option.parse);
    command.addOption(made);
  }
  command.addHelpText('after', examplesHelp(spec));
  command.action(async () => {
    const { json: _json, ...options } = command.opts();
    await handle(spec, command.args, options);
  });
}

function examplesHelp(spec: AnyCommand): string {
  const width = Math.max(...spec.examples.map(([command]) => command.length));
  return ['', 'Examples:', ...spec.examples.map(([command, what]) => `  ${command.padEnd(width)}  ${what}`)].join('\n');
}
