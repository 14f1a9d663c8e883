import { defineCommand } from '../define-command.ts';
import { matchRefs } from '../match-refs.ts';
import { CURRENT } from '../task-columns.ts';
import { table } from '../term/table.ts';

interface Options {
  all?: boolean;
  quiet?: boolean;
}

export const command = defineCommand<Options>({
  options: [
    { flags: '-a, --all', description: 'Also tasks of plans that have ended' },
    { flags: '-q, --quiet', description: 'Names only, one a line' },
  ],
  examples: [
    ['drover ls', 'Tasks of open plans'],
    ['drover ls --all demo/', 'All tasks of the plan demo'],
    ['drover ls -q --json', 'As JSON'],
  ],
  async run(context, refs, options) {
    const { out } = context;
    const api = await context.engine();
    const { tasks } = await api.status({ all: options.all === true || refs.length > 0 });
    const chosen = refs.length > 0 ? matchRefs(tasks, refs) : tasks;
    out.document({ tasks: chosen });
    if (options.quiet) out.lines(chosen.map((task) => task.ref));
    else if (chosen.length === 0) out.line(options.all ? 'No tasks.' : 'No open tasks. With --all also ended ones.');
    else out.lines(await table(CURRENT, chosen, { width: out.width, style: out.style }));
    return undefined;
  },
});
