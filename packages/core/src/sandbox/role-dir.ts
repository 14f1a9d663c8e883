import { join } from 'node:path';
import type { SandboxRole } from './types.ts';

/** The keeper's directory of a role, below its attempt's. */
export function roleDir(attemptDir: string, role: SandboxRole): string {
  return role === 'agent' ? attemptDir : join(attemptDir, role);
}
