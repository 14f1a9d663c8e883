import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PrepareContext } from '../../packages/core/src/agents/types.ts';
import type { TaskDefinition } from '../../packages/core/src/tasks/definition.ts';

/** Directories of one attempt, for tests. */
export interface Place {
  root: string;
  userHome: string;
  homeDir: string;
  worktree: string;
  accountsDir: string;
  /** Writes a file under the user's home; its directories are made. */
  write(path: string, content: string, mode?: number): string;
  context(change?: Partial<PrepareContext>, task?: Partial<TaskDefinition>): PrepareContext;
  remove(): void;
}

export function makePlace(): Place {
  const root = mkdtempSync(join(tmpdir(), 'drover-agents-'));
  const at = (name: string) => {
    mkdirSync(join(root, name));
    return join(root, name);
  };
  const dirs = { userHome: at('user'), homeDir: at('home'), worktree: at('work'), accountsDir: at('accounts') };
  return {
    root,
    ...dirs,
    write(path, content, mode = 0o600) {
      const file = join(dirs.userHome, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content, { mode });
      return file;
    },
    context: (change = {}, task = {}) => ({
      ...dirs,
      homePath: dirs.userHome,
      attemptId: 'a0000000001',
      plan: 'demo',
      attempt: 2,
      env: { PATH: '/usr/bin:/bin' },
      task: { ...TASK, ...task },
      ...change,
    }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

const TASK: TaskDefinition = {
  id: 'one',
  type: 'code',
  class: 'batch',
  priority: 50,
  dependsOn: [],
  agent: 'claude',
  prompt: 'Do it.',
  expects: 'changes',
  limits: {},
  oom: 'kill',
  timeoutWallMs: null,
  timeoutIdleMs: null,
  timeoutSetupMs: null,
  timeoutVerifyMs: null,
  limitsAsked: [],
  graceMs: 1000,
  env: {},
  maxAttempts: 1,
  setup: [],
};
