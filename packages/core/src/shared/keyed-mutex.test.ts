import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { KeyedMutex } from './keyed-mutex.ts';

test('one key: in order, never two at a time', async () => {
  const mutex = new KeyedMutex();
  let running = 0;
  const order: number[] = [];
  await Promise.all(
    [3, 1, 2].map((n) =>
      mutex.run('a', async () => {
        expect(++running).toBe(1);
        await delay(n);
        order.push(n);
        running--;
      }),
    ),
  );
  expect(order).toEqual([3, 1, 2]);
  expect(mutex.size).toBe(0);
});

test('different keys run side by side', async () => {
  const mutex = new KeyedMutex();
  let release = (): void => {};
  const held = mutex.run('a', () => new Promise<void>((resolve) => (release = resolve)));
  expect(await mutex.run('b', async () => 'done')).toBe('done');
  release();
  await held;
});

test('a failure reaches its caller alone', async () => {
  const mutex = new KeyedMutex();
  const failing = mutex.run('a', () => Promise.reject(new Error('no')));
  const next = mutex.run('a', async () => 7);
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe(7);
});
