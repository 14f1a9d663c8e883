import { join } from 'node:path';
import type { Env } from '../types.ts';

/** Where the user's own Claude Code keeps its things. */
export interface UserFiles {
  /** `~/.claude`, or what CLAUDE_CONFIG_DIR says. */
  configDir: string;
  /** `.claude.json`: beside the directory, or in it where it was moved. */
  state: string;
  settings: string;
  credentials: string;
}

/** Finds them. The agent itself always has the default place, in its private home. */
export function userFiles(env: Env, userHome: string): UserFiles {
  const moved = env.CLAUDE_CONFIG_DIR;
  const configDir = moved || join(userHome, '.claude');
  return {
    configDir,
    state: join(moved || userHome, '.claude.json'),
    settings: join(configDir, 'settings.json'),
    credentials: join(configDir, '.credentials.json'),
  };
}
