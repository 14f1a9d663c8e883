import { API_VERSION, DROVER_VERSION, type EngineApi, isDroverError } from '@drover/core/client';
import { type Context, defineCommand } from '../define-command.ts';

export const command = defineCommand({
  examples: [['drover version', 'Versions of drover and of the running engine']],
  async run(context) {
    const engine = await engineVersion(context);
    context.out.document({ version: DROVER_VERSION, apiVersion: API_VERSION, node: process.version, engine });
    context.out.line(`drover ${DROVER_VERSION}, API ${API_VERSION}, node ${process.version}`);
    context.out.line(engine ? `engine ${engine.version}, pid ${engine.pid}` : 'engine: none is running');
    return undefined;
  },
});

async function engineVersion(context: Context): Promise<Awaited<ReturnType<EngineApi['info']>> | null> {
  try {
    return await (await context.engine()).info();
  } catch (error) {
    if (isDroverError(error) && error.code === 'engine_unreachable') return null;
    throw error;
  }
}
