import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { claudeAdapter } from '../../../packages/core/src/agents/claude/index.ts';
import type { Launch } from '../../../packages/core/src/agents/types.ts';
import { startFakeLlm } from '../fake-llm/index.ts';
import { CLAUDE_VERSION, installRealClaude, scriptedClaudeEnv } from '../real-claude.ts';
import { giveToAgent, runLaunch } from '../run-launch.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { Scrubber } from './scrub.ts';

const FIXTURES = join(dirname(fileURLToPath(import.meta.url)), '../../../packages/core/src/agents/claude/fixtures');

/** Records every scenario, or those named, into the adapter's fixtures. */
export async function recordAll(names: readonly string[]): Promise<void> {
  const claude = await installRealClaude();
  mkdirSync(FIXTURES, { recursive: true });
  const table = [];
  for (const scenario of SCENARIOS) {
    if (names.length > 0 && !names.includes(scenario.name)) continue;
    table.push(await record(scenario, claude));
    console.log(JSON.stringify(table.at(-1)));
  }
  if (names.length > 0) return;
  const file = { version: CLAUDE_VERSION, fixtures: table };
  writeFileSync(join(FIXTURES, 'fixtures.json'), `${JSON.stringify(file, null, 2)}\n`);
}

async function record(scenario: Scenario, claude: string) {
  const root = mkdtempSync(join(tmpdir(), 'claude-record-'));
  const place = { worktree: join(root, 'work'), userHome: join(root, 'user'), homeDir: join(root, 'home') };
  for (const path of Object.values(place)) mkdirSync(path);
  process.env.RECORD_CWD = place.worktree;
  execFileSync('git', ['init', '-q', place.worktree]);
  if (scenario.settings) {
    mkdirSync(join(place.userHome, '.claude'));
    writeFileSync(join(place.userHome, '.claude/settings.json'), JSON.stringify(scenario.settings));
  }
  const llm = await startFakeLlm({ script: scenario.script });
  try {
    const launch = await prepare(scenario, claude, place, llm.url);
    giveToAgent(root);
    const end = await runLaunch(launch, place.worktree, signaller(scenario));
    process.stderr.write(end.stderr);
    const scrubber = new Scrubber([
      [place.worktree, '/home/me/worktree'],
      [place.homeDir, '/home/me'],
    ]);
    const lines = end.output
      .trimEnd()
      .split('\n')
      .map((line) => scrubber.line(line));
    writeFileSync(join(FIXTURES, `${scenario.name}.jsonl`), `${lines.join('\n')}\n`);
    return {
      file: `${scenario.name}.jsonl`,
      exit: {
        code: end.code,
        signal: end.signal && constants.signals[end.signal],
        cause: scenario.cause ?? 'exit',
      },
      outcome: scenario.outcome,
      ...(scenario.report ? { report: scenario.report } : {}),
    };
  } finally {
    await llm.stop();
    rmSync(root, { recursive: true, force: true });
  }
}

async function prepare(
  scenario: Scenario,
  claude: string,
  place: { worktree: string; userHome: string; homeDir: string },
  url: string,
): Promise<Launch> {
  const bin = join(place.userHome, 'bin');
  mkdirSync(bin);
  symlinkSync(claude, join(bin, 'claude'));
  return claudeAdapter.prepare({
    ...place,
    homePath: place.homeDir,
    accountsDir: join(place.userHome, 'accounts'),
    attemptId: 'a0000000001',
    plan: 'demo',
    attempt: 1,
    env: withoutEmpty({ PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, ...scriptedClaudeEnv(url), ...scenario.env }),
    task: {
      id: 'demo',
      type: 'code',
      class: 'batch',
      priority: 50,
      dependsOn: [],
      agent: 'claude',
      prompt: 'Do the demo.',
      expects: 'none',
      limits: {},
      oom: 'kill',
      timeoutWallMs: null,
      timeoutIdleMs: null,
      timeoutSetupMs: null,
      timeoutVerifyMs: null,
      limitsAsked: [],
      graceMs: 1000,
      env: {},
      maxAttempts: 1,
      setup: [],
      ...scenario.task,
    },
  });
}

function withoutEmpty(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

/** Sends the scenario's signal, a while after its text was seen: the tool must have begun. */
function signaller({ signal }: Scenario) {
  let sent = false;
  return (output: string, kill: (name: NodeJS.Signals) => void) => {
    if (!signal || sent || !output.includes(signal.after)) return;
    sent = true;
    setTimeout(() => kill(signal.name), 3000);
  };
}
