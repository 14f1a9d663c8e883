import { describe, expect, it } from 'vitest';
import { describeTool } from './activity.ts';
import { ClaudeParser } from './parser.ts';

function parse(lines: unknown[], maxLine?: number) {
  const parser = new ClaudeParser(maxLine);
  for (const line of lines) parser.push(Buffer.from(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`));
  parser.end();
  return parser.report();
}

const result = (fields: Record<string, unknown>) => ({
  type: 'result',
  subtype: 'success',
  is_error: false,
  ...fields,
});

describe('the terminal event', () => {
  it('is believed by is_error, never by its subtype', () => {
    expect(parse([result({ is_error: true, result: 'boom' })]).terminal).toMatchObject({
      ok: false,
      outcome: 'agent_error',
    });
    expect(parse([result({})]).terminal).toMatchObject({ ok: true });
  });

  it('without is_error is a failure', () => {
    expect(parse([{ type: 'result', subtype: 'success' }]).terminal?.ok).toBe(false);
  });

  it('is the last one', () => {
    const more = { type: 'assistant', message: { content: [{ type: 'text', text: 'The build is done, going on.' }] } };
    expect(parse([result({}), more]).terminal).toBeUndefined();
    expect(parse([result({}), { ...more, parent_tool_use_id: 'toolu_1' }]).terminal?.ok).toBe(true);
    expect(parse([result({}), more, result({ is_error: true })]).terminal?.ok).toBe(false);
  });

  it.each([
    ['Not logged in · Please run /login', 'auth_failed'],
    ['Claude AI usage limit reached|1893456000', 'rate_limited'],
    ["You've hit your session limit · resets 3pm", 'rate_limited'],
    ['Prompt is too long', 'context_exhausted'],
    ['I was asked about usage limits', 'agent_error'],
  ])('is understood by its words where there is nothing better: %s', (words, outcome) => {
    expect(parse([result({ is_error: true, result: words })]).terminal?.outcome).toBe(outcome);
  });
});

describe('rate limits', () => {
  const limit = (status: string, resetsAt: number) => ({
    type: 'rate_limit_event',
    rate_limit_info: { status, resetsAt },
  });

  it('that are near, or over again, are no verdict', () => {
    const report = parse([limit('allowed_warning', 1_893_456_000), result({ is_error: true, result: 'x' })]);
    expect(report.terminal?.outcome).toBe('agent_error');
    expect(report.rateLimitResetMs).toBeUndefined();
    const over = parse([
      limit('rejected', 1_893_456_000),
      limit('allowed', 0),
      result({ is_error: true, result: 'x' }),
    ]);
    expect(over.terminal?.outcome).toBe('agent_error');
  });
});

it('bounds what it holds', () => {
  const huge = `{"type":"assistant","pad":"${'x'.repeat(5000)}"}`;
  const report = parse([huge, 'not json', { type: 'from_the_future' }, result({})], 1000);
  expect(report.terminal?.ok).toBe(true);
  expect(report.notes).toEqual(['lines that were no events: 1', 'lines too long to be read: 1']);
});

it.each([
  ['Bash', { command: 'npm test\n' }, 'Bash: npm test'],
  ['Write', { file_path: '/w/src/x.ts' }, 'Write src/x.ts'],
  ['Edit', { file_path: '/etc/hosts' }, 'Edit /etc/hosts'],
  ['mcp__drover__spawn', { n: 1, task: 'go' }, 'mcp__drover__spawn: go'],
  ['TodoWrite', { todos: [] }, 'TodoWrite'],
])('describes %s', (name, input, line) => {
  expect(describeTool(name, input, '/w')).toBe(line);
});
