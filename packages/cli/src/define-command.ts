import type { EngineApi } from '@drover/core/client';
import type { Output } from './output.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What every command gets. */
export interface Context {
  env: Env;
  cwd: string;
  out: Output;
  /** Words after `--`, or null when there was none. */
  afterDashes: string[] | null;
  /** Aborts at the first Ctrl-C or SIGTERM. */
  interrupted: AbortSignal;
  /** The engine; with `start` one is started where none runs. Closed when the command ends. */
  engine(options?: { start?: boolean }): Promise<EngineApi>;
}

export interface OptionSpec {
  /** As commander reads it: `-f, --follow`, `--attempt <n>`. */
  flags: string;
  description: string;
  parse?: (value: string, previous: unknown) => unknown;
}

/** A command without its name and summary, which stand in the table (commands/index.ts) so that help loads none. */
export interface CommandSpec<Options> {
  /** More than the summary, for `--help`. */
  description?: string;
  options?: readonly OptionSpec[];
  examples: ReadonlyArray<readonly [command: string, what: string]>;
  /** Resolves with the exit code; nothing is 0. Errors are printed by the caller, all in one form. */
  run(context: Context, args: string[], options: Options): Promise<number | undefined>;
}

/** The type of a command in the table, whatever its options are. */
export type AnyCommand = CommandSpec<Record<string, unknown>>;

/** Checks the types of a command's options where it is written. */
export function defineCommand<Options = Record<never, never>>(spec: CommandSpec<Options>): AnyCommand {
  return spec as unknown as AnyCommand;
}
