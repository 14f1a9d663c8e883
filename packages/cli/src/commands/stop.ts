import { defineCommand } from '../define-command.ts';
import { milliseconds } from '../option-values.ts';
import { cleanLine } from '../term/sanitize.ts';

interface Options {
  grace?: number;
}

export const command = defineCommand<Options>({
  description:
    'An agent gets SIGTERM and, after its grace time, its whole process tree is killed. What it changed is kept.',
  options: [
    {
      flags: '--grace <time>',
      description: 'Between SIGTERM and the kill, e.g. 5s; 0 kills at once (default: the task)',
      parse: milliseconds('--grace'),
    },
  ],
  examples: [
    ['drover stop demo/build', 'One task'],
    ['drover stop demo/', 'All tasks of the plan demo'],
  ],
  async run(context, refs, options) {
    const api = await context.engine();
    const result = await api.stop({ refs, ...(options.grace === undefined ? {} : { graceMs: options.grace }) });
    context.out.document(result);
    if (result.stopped.length === 0) context.out.line('Nothing was running.');
    for (const ref of result.stopped) context.out.line(`stopped ${cleanLine(ref)}`);
    return undefined;
  },
});
