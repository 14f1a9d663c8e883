import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OUTCOMES, type Outcome } from '../tasks/outcomes.ts';
import { AGENTS, findAgent } from './registry.ts';
import { logRenderer } from './render.ts';
import type { AgentAdapter, AgentReport, ExitFacts } from './types.ts';

/** What every adapter must keep to, over the recorded output of its agent. A fixture is a file, an end, and what it means. */
interface Fixture {
  file: string;
  exit: ExitFacts;
  outcome: Outcome;
  report?: Partial<AgentReport>;
}

const CAUSES = ['exit', 'stop', 'timeout_wall', 'timeout_idle', 'lingered', 'init_lost'] as const;

function fixturePath(agent: AgentAdapter, file: string): string {
  return fileURLToPath(new URL(`./${agent.name}/fixtures/${file}`, import.meta.url));
}

function fixturesOf(agent: AgentAdapter): Fixture[] {
  return JSON.parse(readFileSync(fixturePath(agent, 'fixtures.json'), 'utf8')).fixtures;
}

function parse(agent: AgentAdapter, bytes: Uint8Array, size = bytes.length || 1): AgentReport {
  const parser = agent.parser();
  for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size));
  parser.end();
  return parser.report();
}

describe.each(AGENTS.map((agent) => [agent.name, agent] as const))('%s', (_name, agent) => {
  it.each(fixturesOf(agent).map((one) => [`${one.file}, ${one.exit.cause} ${one.exit.code}`, one] as const))(
    'understands %s',
    (_title, { file, exit, outcome, report: wanted }) => {
      const report = parse(agent, readFileSync(fixturePath(agent, file)));
      const verdict = agent.judge(report, exit);
      expect(verdict.outcome).toBe(outcome);
      expect(verdict.detail).toMatch(/\S/);
      expect(report).toMatchObject(wanted ?? {});
    },
  );

  it('reads the same however its output is cut', () => {
    for (const { file } of fixturesOf(agent)) {
      const bytes = readFileSync(fixturePath(agent, file));
      const whole = parse(agent, bytes);
      for (const size of [1, 7, 4096]) expect(parse(agent, bytes, size)).toEqual(whole);
    }
  });

  it('survives any cut of its output, and any noise in it', () => {
    const bytes = readFileSync(fixturePath(agent, fixturesOf(agent)[0]!.file));
    fc.assert(
      fc.property(fc.nat(bytes.length), fc.uint8Array({ maxLength: 200 }), (at, noise) => {
        const report = parse(agent, Buffer.concat([bytes.subarray(0, at), noise]));
        expect(report.usage).toBeTypeOf('object');
      }),
    );
  });

  it('has a verdict for every end', () => {
    const terminal = fc.option(
      fc.record({ ok: fc.boolean(), detail: fc.string() }, { requiredKeys: ['ok', 'detail'] }),
      { nil: undefined },
    );
    const exit = fc.record({
      code: fc.option(fc.nat(255)),
      signal: fc.option(fc.integer({ min: 1, max: 64 })),
      cause: fc.constantFrom(...CAUSES),
    });
    fc.assert(
      fc.property(terminal, exit, (said, facts) => {
        const report: AgentReport = { usage: {}, notes: [], ...(said ? { terminal: said } : {}) };
        const { outcome } = agent.judge(report, facts);
        expect(OUTCOMES).toHaveProperty(outcome);
        if (OUTCOMES[outcome].success) {
          expect(facts.cause === 'exit' ? facts.code : 0).toBe(0);
          if (agent.hasTerminalEvent) expect(said?.ok).toBe(true);
        }
      }),
    );
  });

  it('shows its output on lines without control characters', () => {
    for (const { file } of fixturesOf(agent)) {
      const renderer = logRenderer(agent.logFormat);
      const lines = [...renderer.push(readFileSync(fixturePath(agent, file))), ...renderer.end()];
      if (agent.logFormat === 'text') continue;
      expect(lines.length).toBeGreaterThan(0);
      for (const { text } of lines) expect(text).not.toMatch(/\p{Cc}/u);
    }
  });
});

describe('names', () => {
  it('are given once', () => {
    const names = AGENTS.flatMap((agent) => [agent.name, ...agent.aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('find the adapter, also by alias', () => {
    expect(findAgent('claude-code').name).toBe('claude');
    expect(findAgent('Command').name).toBe('command');
  });

  it.each(['codex-cli', 'gemini-cli', 'no-such'])('say what there is instead of %s', (name) => {
    expect(() => findAgent(name)).toThrow(
      expect.objectContaining({ code: 'agent_unknown', hint: expect.stringContaining('command, claude') }),
    );
  });
});
