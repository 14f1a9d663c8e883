import { engineSocket, isDroverError } from '@drover/core/client';
import { type Context, defineCommand } from '../define-command.ts';
import { waitUntilGone } from '../wait-until-gone.ts';

interface Options {
  force?: boolean;
}

const GONE_TIMEOUT_MS = 15_000;

export const command = defineCommand<Options>({
  description:
    'Refused while tasks are active. With --force it ends all the same: agents go on, and the next engine adopts them.',
  options: [{ flags: '--force', description: 'Also while tasks are active, or when it is of another version' }],
  examples: [
    ['drover down', 'End an idle engine'],
    ['drover down --force && drover up', 'Restart it under running agents'],
  ],
  async run(context, _args, options) {
    const ended = await end(context, options.force === true);
    if (ended) await waitUntilGone(engineSocket(context.env), GONE_TIMEOUT_MS);
    context.out.document({ ended });
    context.out.line(ended ? 'The engine has ended.' : 'No engine is running.');
    return undefined;
  },
});

/** False when there was none. An engine of another version is ended by signal, as its API cannot be spoken. */
async function end(context: Context, force: boolean): Promise<boolean> {
  try {
    await (await context.engine()).shutdown({ force });
    return true;
  } catch (error) {
    if (!isDroverError(error)) throw error;
    if (error.code === 'engine_unreachable') return false;
    const { pid } = error as { pid?: unknown };
    if (error.code !== 'engine_version' || !force || typeof pid !== 'number') throw error;
    process.kill(pid, 'SIGTERM');
    return true;
  }
}
