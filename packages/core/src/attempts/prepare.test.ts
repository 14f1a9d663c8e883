import { expect, test } from 'vitest';
import type { Sandbox } from '../sandbox/types.ts';
import { startHolder } from './prepare.ts';

test('commands come only after the record of the job that holds the sandbox: before it they would be killed with what that left', async () => {
  const steps: string[] = [];
  let record = (): void => undefined;
  const sandbox = {
    start: async (role: string) => void steps.push(`start ${role}`),
    waitExit: (role: string) =>
      new Promise((resolve) => {
        steps.push(`wait ${role}`);
        record = () => resolve(null);
      }),
  } as unknown as Sandbox;
  const ready = startHolder(sandbox, 'setup', { env: {}, cwd: '/', mounts: [], hostname: 'h' }).then(() => {
    steps.push('ready');
  });
  await new Promise(setImmediate);
  expect(steps).toEqual(['start setup', 'wait setup']);
  record();
  await ready;
  expect(steps).toEqual(['start setup', 'wait setup', 'ready']);
});
