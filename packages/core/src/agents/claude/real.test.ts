import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makePlace, type Place } from '../../../../../test/support/agent-place.ts';
import { type FakeLlm, startFakeLlm } from '../../../../../test/support/fake-llm/index.ts';
import { findRealClaude, scriptedClaudeEnv } from '../../../../../test/support/real-claude.ts';
import { giveToAgent, runLaunch } from '../../../../../test/support/run-launch.ts';
import type { PrepareContext } from '../types.ts';
import { claudeAdapter } from './index.ts';

/** The real Claude Code against a scripted endpoint: what the fixtures cannot show. */
const claude = findRealClaude();
if (!claude) console.log('The real Claude Code is not here (DROVER_CLAUDE, .cache/claude): its tests are skipped.');

let place: Place;
let llm: FakeLlm;

beforeEach(async () => {
  place = makePlace();
  llm = await startFakeLlm({ script: {} });
  execFileSync('git', ['init', '-q', place.worktree]);
  mkdirSync(join(place.userHome, 'bin'));
  if (claude) symlinkSync(claude, join(place.userHome, 'bin/claude'));
});
afterEach(async () => {
  await llm.stop();
  place.remove();
});

function contextWith(env: Record<string, string>): PrepareContext {
  const PATH = `${join(place.userHome, 'bin')}:/usr/local/bin:/usr/bin:/bin`;
  return place.context({ homePath: place.homeDir, env: { PATH, ...env } });
}

async function run(context: PrepareContext, onOutput?: Parameters<typeof runLaunch>[2]) {
  const launch = await claudeAdapter.prepare(context);
  giveToAgent(place.root);
  const end = await runLaunch(launch, place.worktree, onOutput);
  const parser = claudeAdapter.parser();
  parser.push(Buffer.from(end.output));
  parser.end();
  const report = parser.report();
  const verdict = claudeAdapter.judge(report, { code: end.code, signal: null, cause: 'exit' });
  return { report, verdict, stderr: end.stderr };
}

describe.skipIf(!claude)('the real Claude Code', () => {
  it('works through a task, commits as the user and is understood', async () => {
    place.write('.gitconfig', '[user]\n\tname = Me\n\temail = me@example.org\n');
    llm.play({
      turns: [
        { shell: 'echo hi > a && git add a && git commit -qm Work && git log -1 --format=%an:%ae' },
        { text: 'All done.' },
      ],
    });
    const { verdict, report, stderr } = await run(contextWith(scriptedClaudeEnv(llm.url)));
    expect(verdict, stderr).toMatchObject({ outcome: 'ok' });
    expect(report).toMatchObject({ summary: 'All done.', usage: { turns: 2 }, notes: [] });
    const results = llm.requests.map((request) => JSON.stringify(request.body.messages)).join();
    expect(results).toContain('Me:me@example.org');
  });

  it('reads the instructions of the user, and its prompt from stdin', async () => {
    place.write('.claude/CLAUDE.md', 'Always answer in verse, says the user.');
    llm.play({ turns: [{ text: 'Yes.' }] });
    await run(contextWith(scriptedClaudeEnv(llm.url)));
    expect(llm.requests.some((request) => request.prompt?.includes('Do it.'))).toBe(true);
    expect(JSON.stringify(llm.requests.map((request) => request.body))).toContain('Always answer in verse');
  });

  it('goes on with the session of an earlier attempt', async () => {
    llm.play({ turns: [{ text: 'The word is heron.' }] });
    const first = await run(contextWith(scriptedClaudeEnv(llm.url)));
    const earlier = { session: first.report.sessionId!, homeDir: place.homeDir };
    const homeDir = join(place.root, 'home-2');
    mkdirSync(homeDir);
    const second = await run({
      ...contextWith(scriptedClaudeEnv(llm.url)),
      homeDir,
      homePath: homeDir,
      resume: earlier,
    });
    expect(second.verdict.outcome).toBe('ok');
    expect(second.report.sessionId).toBe(earlier.session);
    expect(JSON.stringify(llm.requests.at(-1)!.body.messages)).toContain('The word is heron.');
  });

  it('takes a renewed account while it runs, and never needs the refresh token', async () => {
    const write = (token: string, inMs: number) => {
      const oauth = { accessToken: token, refreshToken: 'R', expiresAt: Date.now() + inMs, scopes: ['user:inference'] };
      place.write('.claude/.credentials.json', JSON.stringify({ claudeAiOauth: oauth }));
    };
    const { ANTHROPIC_API_KEY: _none, ...env } = scriptedClaudeEnv(llm.url);
    const context = contextWith(env);
    write('sk-ant-oat01-first', 3_600_000);
    llm.play({
      turns: [
        { shell: 'echo waiting; for i in 1 2 3 4 5 6; do read -t 1 < <(tail -f /dev/null); done' },
        { text: 'ok' },
      ],
    });
    let renewed = false;
    const running = run(context, (output) => {
      if (renewed || !output.includes('"tool_use"')) return;
      renewed = true;
      write('sk-ant-oat01-second', 7_200_000);
      void claudeAdapter.refreshAccount!(context);
    });
    chmodSync(place.root, 0o755);
    expect((await running).verdict.outcome).toBe('ok');
    const tokens = llm.requests.filter((request) => request.turn !== undefined && request.turn >= 0);
    expect(tokens.map((request) => request.key)).toEqual([
      expect.stringMatching(/first$/),
      expect.stringMatching(/second$/),
    ]);
  });
});
