import { homedir } from 'node:os';
import { join } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

/** The state directory: database, socket, logs, worktrees. See docs/architecture.md. */
export function stateDir(env: Env = process.env): string {
  if (env.DROVER_STATE_DIR) return env.DROVER_STATE_DIR;
  return join(env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state'), 'drover');
}

/** The engine's Unix socket. */
export function engineSocket(env: Env = process.env): string {
  return join(stateDir(env), 'engine.sock');
}

/** The privileged helper's Unix socket. */
export function helperSocket(env: Env = process.env): string {
  return env.DROVER_HELPER_SOCKET || '/run/drover/helper.sock';
}

/** The user's configuration file. */
export function userConfigFile(env: Env = process.env): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'drover', 'config.yaml');
}
