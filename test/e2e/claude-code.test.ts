import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FakeLlm, startFakeLlm } from '../support/fake-llm/index.ts';
import { differences, fingerprint } from '../support/fingerprint.ts';
import { plan } from '../support/plans.ts';
import { installRealClaude, scriptedClaudeEnv } from '../support/real-claude.ts';
import { createWorld, type World } from '../support/world.ts';

const INSTALL_TIMEOUT_MS = 10 * 60_000;

let model: FakeLlm;
let world: World;

/** What the model does when asked for a greeting: looks where it is, writes a file, commits it, says so. */
const script = {
  scenarios: [
    {
      match: 'greeting',
      turns: [
        { shell: 'pwd' },
        { tools: [{ tool: 'Write', input: { file_path: '{{last_tool_result}}/greeting.txt', content: 'hello\n' } }] },
        { shell: 'git add -A && git commit -qm "Add a greeting"' },
        { text: 'The greeting is there.' },
      ],
    },
    { match: 'look', turns: [{ text: 'I have looked.' }] },
  ],
};

beforeAll(async () => {
  const claude = await installRealClaude();
  model = await startFakeLlm({ script });
  const env = { PATH: `${dirname(claude)}:${process.env.PATH}`, ...scriptedClaudeEnv(model.url) };
  world = await createWorld({ env });
}, INSTALL_TIMEOUT_MS);

afterAll(async () => {
  await world?.dispose();
  await model?.stop();
});

test('Claude Code edits, commits and ends ok inside its sandbox', async () => {
  const repository = await world.repository({ files: 300 });
  const before = fingerprint(repository.path);
  const result = await world.run(
    plan('claude', [
      { id: 'greet', agent: 'claude', prompt: 'Add a greeting.', verify: ['grep', '-q', 'hello', 'greeting.txt'] },
      { id: 'look', agent: 'claude', prompt: 'Just look around.' },
    ]),
    { repository },
  );

  expect(await world.outcomes('claude'), result.stderr).toEqual({ greet: 'ok', look: 'no_changes' });
  const greet = await world.task('claude/greet');
  expect(await repository.git('log', '-1', '--format=%s', greet.branch!)).toBe('Add a greeting');
  expect(greet.usage.outputTokens).toBeGreaterThan(0);
  expect(greet.history[0]!.summary).toBe('The greeting is there.');
  expect(greet.history[0]!.agentVersion).toMatch(/^\d+\.\d+\.\d+/);
  expect(differences(before, fingerprint(repository.path))).toEqual([]);
});
