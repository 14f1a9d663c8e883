import { DroverError, lazyEngine } from '@drover/core/client';
import { defineCommand } from '../define-command.ts';

export const command = defineCommand({
  description:
    'An agent starts it by itself, once it is registered there. It has one tool, fleet_status. Logs go to standard error.',
  examples: [['claude mcp add drover -- drover mcp', 'Give Claude Code the fleet']],
  async run(context) {
    if (context.out.json) throw new DroverError('usage', 'mcp speaks its own protocol on standard output.');
    const { serveMcp } = await import('@drover/mcp-server');
    await serveMcp(lazyEngine({ env: context.env, start: true }), context.interrupted);
    return 0;
  },
});
