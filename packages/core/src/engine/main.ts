import { startEngine } from './engine.ts';
import { createLog } from './log.ts';

/** Exit code that tells the supervisor not to start again: see `drover-keeper supervise`. */
const DO_NOT_RESTART = 75;

const log = createLog();
process.on('uncaughtException', (error) => {
  log.fatal({ error: error.stack }, 'uncaught exception');
  process.exit(1);
});
process.on('unhandledRejection', (reason) => {
  log.fatal({ error: reason instanceof Error ? reason.stack : String(reason) }, 'unhandled rejection');
  process.exit(1);
});

try {
  const engine = await startEngine({ env: process.env, log });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => engine.stop());
  await engine.stopped;
  process.exit(0);
} catch (error) {
  const code = (error as { code?: string }).code;
  log.fatal({ code, error: error instanceof Error ? error.message : String(error) }, 'the engine cannot start');
  // To start again would end the same way: another engine runs, or the database cannot be used.
  process.exit(code === undefined ? 1 : DO_NOT_RESTART);
}
