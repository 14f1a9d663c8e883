import { defineCommand } from '../define-command.ts';

export const command = defineCommand({
  description: 'The first task starts it by itself; this is for starting it beforehand, or after `drover down`.',
  examples: [['drover up', 'Start the engine, or say that it runs']],
  async run(context) {
    const api = await context.engine({ start: true });
    const info = await api.info();
    context.out.document(info);
    context.out.line(`engine ${info.version} runs, pid ${info.pid}, state in ${info.stateDir}`);
    for (const level of info.levels) {
      const why = level.reason ? `: ${level.reason}` : '';
      context.out.line(`  ${level.level.padEnd(9)} ${level.available ? 'yes' : 'no'}${why}`);
    }
    return undefined;
  },
});
