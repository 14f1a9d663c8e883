import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cliPage } from './docs.ts';

const file = new URL('../../../docs/cli.md', import.meta.url);

test('docs/cli.md is what the commands say (else run this test with UPDATE_DOCS=1)', async () => {
  const page = await cliPage();
  if (process.env.UPDATE_DOCS) writeFileSync(file, page);
  expect(readFileSync(file, 'utf8')).toBe(page);
});
