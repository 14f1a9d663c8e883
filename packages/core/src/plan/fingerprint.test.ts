import { expect, it } from 'vitest';
import { loadConfig } from '../config/index.ts';
import { taskFingerprint } from './fingerprint.ts';
import { resolveTask } from './resolve-task.ts';

const adapters = [{ name: 'command', aliases: [], takes: 'command' as const }];
const make = (task: Record<string, unknown>) => resolveTask({ task, config: loadConfig(), adapters });
const task = make({ id: 'a', command: ['x'], env: { A: '1', B: '2' } });

it('is stable', () => {
  expect(taskFingerprint(task, 'base')).toBe(
    taskFingerprint(make({ env: { B: '2', A: '1' }, command: ['x'], id: 'a' }), 'base'),
  );
  expect(taskFingerprint(JSON.parse(JSON.stringify(task)), 'base')).toBe(taskFingerprint(task, 'base'));
  expect(taskFingerprint(task, 'base')).toMatch(/^[0-9a-f]{64}$/);
});

it('changes with what the result depends on', () => {
  const others = [
    taskFingerprint(task, 'other'),
    taskFingerprint({ ...task, command: ['x', ''] }, 'base'),
    taskFingerprint({ ...task, env: { A: '1' } }, 'base'),
    taskFingerprint({ ...task, verify: ['x'] }, 'base'),
    taskFingerprint({ ...task, dependsOn: ['b'] }, 'base'),
  ];
  expect(new Set([...others, taskFingerprint(task, 'base')]).size).toBe(6);
});

it('stays when only the way of running changes', () => {
  const other = { ...task, priority: 1, limits: { memory: 1 }, timeoutWallMs: null, maxAttempts: 9 };
  expect(taskFingerprint(other, 'base')).toBe(taskFingerprint(task, 'base'));
});
