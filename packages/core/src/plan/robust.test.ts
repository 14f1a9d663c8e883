import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../config/index.ts';
import { loadPlan } from './index.ts';

const adapters = [
  { name: 'command', aliases: [], takes: 'command' as const },
  { name: 'claude', aliases: ['claude-code'], takes: 'prompt' as const },
];
const config = loadConfig();

/** Anything at all but a thrown ConfigError is a fault. */
function loads(text: string): void {
  try {
    loadPlan({ file: 'p.yaml', text, config, adapters });
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    for (const issue of (error as ConfigError).issues) {
      expect(issue.line).toBeGreaterThan(0);
      expect(issue.message).not.toBe('');
    }
  }
}

const KEYS = [
  ...[
    'id',
    'type',
    'depends_on',
    'agent',
    'prompt',
    'command',
    'verify',
    'limits',
    'memory',
    'timeout',
    'timeouts',
    'wall',
  ],
  ...[
    'env',
    'setup',
    'priority',
    'class',
    'retries',
    'tasks',
    'types',
    'config',
    'defaults',
    'execution_engine',
    'preset',
  ],
  ...['agents', 'default', 'claude', 'path', 'constructor', 'toString', 'hasOwnProperty', 'x'],
];
const word = fc.constantFrom('a', 'b', 'claude', '2G', '30s', 'none', 'high', '', '\0', 'article', '-x', '../..');
const tree = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('map'),
  ),
  list: fc.array(tie('value'), { maxLength: 3 }),
  map: fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 6 }),
})).map;

it('answers any tree of known words with a plan or with issues', () => {
  const task = fc.dictionary(fc.constantFrom(...KEYS), fc.oneof(word, tree, fc.integer()), { maxKeys: 6 });
  const plan = fc.record({ tasks: fc.array(task, { maxLength: 4 }), rest: tree });
  fc.assert(
    fc.property(plan, ({ tasks, rest }) => loads(JSON.stringify({ ...(rest as object), tasks }))),
    { numRuns: 1000 },
  );
});

it('answers any text with issues', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), loads));
  fc.assert(fc.property(fc.stringMatching(/^[-a-c:?[\]{}&*!|>'"%@#,\n ]{0,60}$/), loads), { numRuns: 1000 });
});

it('never lets a plan loosen a limit', () => {
  const bytes = fc.integer({ min: 16, max: 64 });
  fc.assert(
    fc.property(bytes, bytes, fc.constantFrom('config', 'defaults', 'task', 'type'), (own, wanted, place) => {
      const limits = { memory: `${wanted}M` };
      const text = JSON.stringify({
        ...(place === 'config' ? { config: { limits } } : {}),
        ...(place === 'defaults' ? { defaults: { limits } } : {}),
        types: { t: { command: 'x', ...(place === 'type' ? { limits } : {}) } },
        tasks: [{ id: 'a', type: 't', ...(place === 'task' ? { limits } : {}) }],
      });
      const base = loadConfig({ user: { file: 'u', text: `limits: {memory: ${own}M}` } });
      const load = () => loadPlan({ file: 'p', text, config: base, adapters }).tasks[0]?.limits.memory;
      if (wanted > own) expect(load).toThrow(expect.objectContaining({ code: 'config_untrusted' }));
      else expect(load()).toBe(wanted * 1024 ** 2);
    }),
  );
});

it('imports nothing heavy: a command must start in a blink', () => {
  const here = dirname(fileURLToPath(import.meta.url));
  const seen = new Set<string>();
  const outside = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, name] of readFileSync(file, 'utf8').matchAll(
      /^(?:import(?! type)|export(?! type))[^;]*? from '([^']+)';/gm,
    )) {
      if (name!.startsWith('.')) visit(join(dirname(file), name!));
      else outside.add(name!);
    }
  };
  visit(join(here, 'index.ts'));
  visit(join(here, '../config/index.ts'));
  expect([...outside].filter((name) => !name.startsWith('node:')).sort()).toEqual(['yaml', 'zod']);
});
