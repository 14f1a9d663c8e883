import { expect, it } from 'vitest';
import { type AdapterInfo, loadConfig } from '../config/index.ts';
import { resolveTask } from './resolve-task.ts';

const adapters: AdapterInfo[] = [
  { name: 'command', aliases: [], takes: 'command' },
  { name: 'claude', aliases: ['claude-code'], takes: 'prompt' },
];
const config = loadConfig({ user: { file: 'u.yaml', text: 'types: {fix: {prompt: Fix it, priority: high}}' } });

it('resolves a task by the rules of a plan', () => {
  expect(resolveTask({ task: { type: 'fix', 'limits.memory': '64M' }, id: 't-1', config, adapters })).toMatchObject({
    id: 't-1',
    prompt: 'Fix it',
    agent: 'claude',
    priority: 75,
    limits: { memory: 64 * 1024 ** 2, pids: 1024 },
  });
});

it("is the user's own word: it may loosen", () => {
  const task = { id: 'a', command: ['x'], limits: { memory: '9G' }, env: { X_API_KEY: '1' } };
  expect(resolveTask({ task, config, adapters }).limits.memory).toBe(9 * 1024 ** 3);
});

it('may only tighten where it is not', () => {
  const task = { id: 'a', command: ['x'], limits: { memory: '9G' } };
  expect(() => resolveTask({ task, config, adapters, trusted: false })).toThrow(
    expect.objectContaining({ code: 'config_untrusted' }),
  );
});

it('names keys as the caller knows them', () => {
  const label = (key: string) => (key === 'limits.memory' ? '--memory' : key);
  const attempt = () =>
    resolveTask({ task: { id: 'a', prompt: 'x', limits: { memory: 'lots' } }, config, adapters, label });
  expect(attempt).toThrow(
    expect.objectContaining({ code: 'task_invalid', message: expect.stringContaining('flags  --memory') }),
  );
});

it.each([
  [{ prompt: 'x' }, 'the task has no id'],
  [{ id: 'a' }, 'has neither a prompt nor a command'],
  [{ id: 'a b', prompt: 'x' }, 'letters, digits'],
])('refuses %j', (task, message) => {
  expect(() => resolveTask({ task, config, adapters })).toThrow(message);
});
