import { resolve } from 'node:path';
import { defineCommand } from '../define-command.ts';
import { followSubmission } from '../follow/follow-submission.ts';
import { wholeNumber } from '../option-values.ts';
import { readPlanFile } from '../read-plan.ts';
import { SUBMISSION_OPTIONS, type SubmissionFlags, submissionBase } from '../submission.ts';

interface Options extends SubmissionFlags {
  fresh?: boolean;
  agent?: string;
  detach?: boolean;
}

export const command = defineCommand<Options>({
  description:
    'Tasks of an earlier run that are ok and unchanged are skipped. Ctrl-C leaves the view and stops nothing: agents go on, ' +
    '`drover wait PLAN/` follows them again, `drover stop PLAN/` stops them.',
  options: [
    { flags: '--fresh', description: 'Run every task again, as a new plan PLAN-2' },
    { flags: '--agent <name>', description: 'This agent for every task, in the place of its own' },
    {
      flags: '--max-parallel <n>',
      description: 'At most so many agents at a time',
      parse: wholeNumber('--max-parallel'),
    },
    ...SUBMISSION_OPTIONS,
  ],
  examples: [
    ['drover run tasks.yaml', 'Run a plan and follow it'],
    ['drover run tasks.yaml --max-parallel 4 -d', 'Start it in the background, four agents at a time'],
    ['drover run tasks.yaml --limit memory=2G', 'With 2 GiB for each agent'],
    ['drover run tasks.yaml --json', 'Events and the result as JSON lines'],
  ],
  async run(context, [path = ''], options) {
    const file = resolve(context.cwd, path);
    const text = await readPlanFile(file);
    const api = await context.engine({ start: true });
    const submitted = await api.submitPlan({
      ...submissionBase(context, options),
      file,
      text,
      ...(options.fresh ? { fresh: true } : {}),
      ...(options.agent === undefined ? {} : { agent: options.agent }),
    });
    return await followSubmission(api, submitted, context, options.detach === true);
  },
});
