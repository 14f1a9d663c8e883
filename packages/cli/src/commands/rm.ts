import { defineCommand } from '../define-command.ts';
import { cleanLine } from '../term/sanitize.ts';

interface Options {
  unmerged?: boolean;
}

export const command = defineCommand<Options>({
  description: 'Refused for a result that is merged nowhere. What is removed stays under refs/drover/snapshots/.',
  options: [{ flags: '--unmerged', description: 'Also results that are merged nowhere' }],
  examples: [
    ['drover rm demo/build', 'One task'],
    ['drover rm demo/ --unmerged', 'A whole plan, merged or not'],
  ],
  async run(context, refs, options) {
    const api = await context.engine();
    const result = await api.remove({ refs, ...(options.unmerged ? { unmerged: true } : {}) });
    context.out.document(result);
    for (const ref of result.removed) context.out.line(`removed ${cleanLine(ref)}`);
    return undefined;
  },
});
