import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cliPage } from './docs.ts';

test('is what docs/cli.md says (else run `pnpm run docs`)', async () => {
  const committed = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  expect(committed).toBe(await cliPage());
});
