import { text as readStream } from 'node:stream/consumers';
import { DroverError } from '@drover/core/client';
import { type Context, defineCommand } from '../define-command.ts';
import { followSubmission } from '../follow/follow-submission.ts';
import { oneOf } from '../option-values.ts';
import { shellWords } from '../shell-words.ts';
import { overridesOf, SUBMISSION_OPTIONS, type SubmissionFlags, submissionBase } from '../submission.ts';

interface Options extends SubmissionFlags {
  agent?: string;
  id?: string;
  model?: string;
  verify?: string;
  expects?: string;
  priority?: string;
  base?: string;
  timeout?: string;
  detach?: boolean;
}

export const command = defineCommand<Options>({
  description:
    'The prompt is one argument; `-` reads it from standard input. After `--` stands a command instead, run as it is, without a shell. ' +
    'Ctrl-C leaves the view and stops nothing.',
  options: [
    { flags: '--agent <name>', description: 'Which agent gets the prompt (default: the configuration)' },
    { flags: '--id <id>', description: 'Name of the task (default: made from its time)' },
    { flags: '--model <model>', description: 'Model, for agents that have a choice' },
    {
      flags: '--verify <command>',
      description:
        'Run after the agent; exit 0 is success. Split into words like a shell does, without its other rules',
    },
    {
      flags: '--expects <what>',
      description: 'changes (default for prompts), or none for tests and reviews',
      parse: oneOf('--expects', ['changes', 'none']),
    },
    { flags: '--priority <p>', description: 'high, medium, low, or a number from 0 to 100' },
    { flags: '--base <revision>', description: 'Start from this revision (default: HEAD)' },
    { flags: '--timeout <time>', description: 'Wall-clock limit such as 30m, or none' },
    ...SUBMISSION_OPTIONS,
  ],
  examples: [
    ['drover spawn --agent claude "Fix the flaky test in src/queue"', 'A prompt for an agent'],
    ['drover spawn --expects none -- npm test', 'A command in a worktree of its own'],
    ['drover spawn --agent claude --verify "npm test" -d - < prompt.md', 'A prompt from a file, in the background'],
  ],
  async run(context, args, options) {
    const task = { ...(await workOf(context, args)), ...fieldsOf(options) };
    const api = await context.engine({ start: true });
    // Limits stand in the task itself: it is one task, and errors name it.
    const { limit: _limit, ...flags } = options;
    const submitted = await api.spawnTask({ ...submissionBase(context, flags), overrides: overridesOf(flags), task });
    return await followSubmission(api, submitted, context, options.detach === true);
  },
});

/** The prompt or the command; exactly one of them. */
async function workOf(context: Context, args: string[]): Promise<Record<string, unknown>> {
  const argv = context.afterDashes;
  const words = argv ? args.slice(0, args.length - argv.length) : args;
  if (argv && words.length > 0) throw new DroverError('usage', 'Give a prompt, or a command after --, not both.');
  if (argv && argv.length > 0) return { command: argv };
  if (words.length > 1)
    throw new DroverError('usage', 'The prompt is one argument.', 'Quote it, or put -- before a command.');
  const prompt = words[0] === '-' ? await readStream(process.stdin) : words[0];
  if (prompt?.trim()) return { prompt };
  throw new DroverError(
    'usage',
    'There is no prompt and no command.',
    'drover spawn "PROMPT", or drover spawn -- COMMAND',
  );
}

/** Flags as the keys of a plan file. */
function fieldsOf(options: Options): Record<string, unknown> {
  const { agent, id, model, expects, base, timeout, limit: limits } = options;
  const verify = options.verify === undefined ? undefined : shellWords(options.verify);
  const fields = { agent, id, model, expects, base, timeout, verify, limits, priority: priorityOf(options.priority) };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function priorityOf(word: string | undefined): string | number | undefined {
  if (word === undefined || ['high', 'medium', 'low'].includes(word)) return word;
  const n = Number(word);
  if (word.trim() !== '' && n >= 0 && n <= 100) return n;
  throw new DroverError('usage', `--priority takes high, medium, low or a number from 0 to 100, not '${word}'`);
}
