import { expect, test } from 'vitest';
import { retry } from './retry.ts';

const options = { attempts: 4, baseMs: 100, maxMs: 250, retryIf: () => true, random: () => 1 };

test('waits double up to the bound, and the last error is thrown', async () => {
  const waits: number[] = [];
  let tries = 0;
  const work = (): Promise<never> => Promise.reject(new Error(`try ${++tries}`));
  await expect(retry(work, { ...options, sleep: async (ms) => waits.push(ms) })).rejects.toThrow('try 4');
  expect(waits).toEqual([100, 200, 250]);
});

test('an error that waiting does not cure is thrown at once', async () => {
  let tries = 0;
  const work = (): Promise<never> => Promise.reject(new Error(`try ${++tries}`));
  await expect(retry(work, { ...options, retryIf: () => false })).rejects.toThrow('try 1');
});

test('waits carry jitter between half and all of the bound', async () => {
  const waits: number[] = [];
  const work = (): Promise<never> => Promise.reject(new Error('no'));
  await expect(
    retry(work, { ...options, attempts: 2, random: () => 0, sleep: async (ms) => waits.push(ms) }),
  ).rejects.toThrow();
  expect(waits).toEqual([50]);
});
