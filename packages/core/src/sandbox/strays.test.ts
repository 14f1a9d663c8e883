import { expect, test } from 'vitest';
import { removeStrays } from './strays.ts';
import type { Sandbox, SandboxProvider } from './types.ts';

test('sandboxes of ended and of unrecorded attempts are removed; those in use and those of other engines stay', async () => {
  const removed: string[] = [];
  const provider = {
    all: async () => [
      { ref: 's1', attemptId: 'running' },
      { ref: 's2', attemptId: 'ended' },
      { ref: 's3', attemptId: 'foreign' },
      { ref: 's4', attemptId: 'running' },
    ],
    adopt: async (ref: string) => ({ destroy: async () => void removed.push(ref) }) as unknown as Sandbox,
  } as unknown as SandboxProvider;
  const wanted = new Map([
    ['running', 's1'],
    ['ended', null],
  ]);
  expect(await removeStrays(provider, (id) => wanted.get(id))).toBe(2);
  expect(removed).toEqual(['s2', 's4']);
});
