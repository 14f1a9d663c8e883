import pino, { type Logger } from 'pino';

/** The engine's own log: JSON lines on stderr, which the starter has pointed at `engine.log`. */
export function createLog(): Logger {
  return pino({ name: 'drover-engine', level: process.env.DROVER_LOG_LEVEL ?? 'info' }, pino.destination(2));
}
