import { copyFileSync, linkSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
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
  world = await createWorld({ env: scriptedClaudeEnv(model.url) });
  world.env.PATH = `${placeOnPath(claude)}:${world.env.PATH}`;
}, INSTALL_TIMEOUT_MS);

/** In the world's own directory: the checkout may lie below /tmp, of which a sandbox has one of its own. */
function placeOnPath(program: string): string {
  const directory = join(world.root, 'bin');
  mkdirSync(directory);
  try {
    linkSync(program, join(directory, 'claude'));
  } catch {
    copyFileSync(program, join(directory, 'claude'));
  }
  return directory;
}

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

  expect(await world.outcomes('claude'), result.stdout).toEqual({ greet: 'ok', look: 'no_changes' });
  const greet = await world.task('claude/greet');
  expect(await repository.git('log', '-1', '--format=%s', greet.branch!)).toBe('Add a greeting');
  expect(greet.usage.outputTokens).toBeGreaterThan(0);
  expect(greet.history[0]!.summary).toBe('The greeting is there.');
  expect(greet.history[0]!.agentVersion).toMatch(/^\d+\.\d+\.\d+/);
  expect(differences(before, fingerprint(repository.path))).toEqual([]);
});
