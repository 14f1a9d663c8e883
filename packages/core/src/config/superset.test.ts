import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { loadSupersetConfig } from './superset.ts';

const seed = readFileSync(new URL('../../../../test/fixtures/seeds/superset-config.json', import.meta.url), 'utf8');
const file = '.superset/config.json';

it('reads the file as it stands', () => {
  expect(loadSupersetConfig({ file, text: seed })).toEqual({
    setup: [
      ['sh', '-c', 'cp ../.env .env'],
      ['sh', '-c', 'bun install'],
    ],
    teardown: [
      ['sh', '-c', 'rm -rf node_modules'],
      ['sh', '-c', 'git worktree remove ../workspace-name'],
    ],
    run: [],
  });
});

it('refuses what it does not know', () => {
  expect(() => loadSupersetConfig({ file, text: '{"setpu": ["x"], "run": [3]}' })).toThrow(
    expect.objectContaining({
      issues: [
        expect.objectContaining({ key: 'setpu', hint: 'Did you mean `setup`?' }),
        expect.objectContaining({ key: 'run', line: 1 }),
      ],
    }),
  );
});
