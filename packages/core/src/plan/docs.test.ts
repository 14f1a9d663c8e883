import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { loadConfig } from '../config/index.ts';
import { configurationPage } from './docs.ts';
import { loadPlan } from './index.ts';

const page = configurationPage();

it('is what docs/configuration.md says (else run `pnpm run docs`)', () => {
  const committed = readFileSync(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8');
  expect(committed).toBe(page);
});

it('shows an example that loads', () => {
  const [, text] = /```yaml\n([\s\S]*?)```/.exec(page)!;
  const adapters = [
    { name: 'command', aliases: [], takes: 'command' as const },
    { name: 'claude', aliases: [], takes: 'prompt' as const },
    { name: 'codex', aliases: [], takes: 'prompt' as const },
  ];
  const plan = loadPlan({ file: 'example.yaml', text: text!, config: loadConfig(), adapters });
  expect(plan.tasks.map(({ id, agent }) => [id, agent])).toEqual([
    ['parser', 'claude'],
    ['docs', 'codex'],
    ['all-tests', 'command'],
  ]);
});
