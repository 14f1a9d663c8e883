import { describe, expect, test } from 'vitest';
import { fakeTask } from '../../core/src/api/testing/index.ts';
import { detachKey } from './attach/detach-key.ts';
import { EXIT_CODES, exitCodeOf } from './exit-codes.ts';
import { count, duration } from './format.ts';
import { textRenderer } from './logs/renderer.ts';
import { rendererFor } from './logs/renderer-for.ts';
import { matchRefs } from './match-refs.ts';
import { shellWords } from './shell-words.ts';

test.each([
  [0, '0.0s'],
  [9_900, '9.9s'],
  [9_960, '10s'],
  [59_499, '59s'],
  [59_600, '1m00s'],
  [3_599_600, '1h00m'],
  [7_830_000, '2h10m'],
  [90_000_000, '1d01h'],
  [null, '-'],
])('%s ms is %s', (ms, text) => expect(duration(ms)).toBe(text));

test('counts', () =>
  expect([count(1, 'task'), count(0, 'task'), count(2, 'task')]).toEqual(['1 task', '0 tasks', '2 tasks']));

test.each([
  ['npm test', ['npm', 'test']],
  ['  a   b ', ['a', 'b']],
  [`sh -c 'echo "x y"'`, ['sh', '-c', 'echo "x y"']],
  ['a "b \\" c" d\\ e', ['a', 'b " c', 'd e']],
  ["''", ['']],
  [`a"b"'c'`, ['abc']],
  ['', []],
])('words of %j', (text, words) => expect(shellWords(text)).toEqual(words));

test('a quote that is not closed is refused', () => expect(() => shellWords('a "b')).toThrow('not closed'));

test('keys that leave', () => {
  expect(detachKey('ctrl-]')).toEqual({ byte: 0x1d, name: 'Ctrl-]' });
  expect(detachKey('^q').byte).toBe(0x11);
  expect(() => detachKey('q')).toThrow('no key');
});

test('exit codes of errors', () => {
  const cases: Array<[string, number]> = [
    ['engine_unreachable', 3],
    ['plan_invalid', 2],
    ['task_invalid', 2],
    ['config_untrusted', 2],
    ['unit_invalid', 2],
    ['no_such_task', 4],
    ['not_a_repository', 4],
    ['level_unavailable', 5],
    ['limit_unsupported', 5],
    ['unmerged', 5],
    ['tasks_open', 5],
    ['agent_missing', 5],
    ['something_new', 70],
  ];
  for (const [code, exit] of cases) expect([code, exitCodeOf(code)]).toEqual([code, exit]);
  const all = Object.values(EXIT_CODES).map(({ code }) => code);
  expect(new Set(all).size).toBe(all.length);
});

describe('names of tasks', () => {
  const tasks = [
    { ...fakeTask('demo/a'), repository: 'one' },
    { ...fakeTask('demo/b'), repository: 'one' },
    { ...fakeTask('old/a'), repository: 'one', state: 'ended' as const },
    { ...fakeTask('demo/a'), repository: 'two' },
    { ...fakeTask('x/b'), repository: 'two', state: 'ended' as const },
  ];
  const match = (...refs: string[]) => matchRefs(tasks, refs).map((task) => `${task.repository}:${task.ref}`);
  const code = (ref: string) => {
    try {
      return match(ref);
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  test('a plan, a task, a task alone', () => {
    expect(match('old/')).toEqual(['one:old/a']);
    expect(match('demo/b', 'demo/b')).toEqual(['one:demo/b']);
    expect(match('b')).toEqual(['one:demo/b']);
    expect(match('two:demo/a')).toEqual(['two:demo/a']);
    expect(match('one:demo/')).toEqual(['one:demo/a', 'one:demo/b']);
  });

  test('none, or more than one', () => {
    expect(code('demo/a')).toBe('ambiguous_ref');
    expect(code('a')).toBe('ambiguous_ref');
    expect(code('nobody')).toBe('no_such_task');
    expect(code('nobody/')).toBe('no_such_plan');
  });
});

describe('rendered logs', () => {
  test('text in any pieces: the same lines, no half characters', () => {
    const bytes = Buffer.from('één ✓\r\nbar 10%\rbar 100%\n\u001b[31mred\u001b[0m\nlast');
    for (const size of [1, 2, 3, 7, 1000]) {
      const renderer = textRenderer();
      const lines: string[] = [];
      for (let at = 0; at < bytes.length; at += size) lines.push(...renderer.push(bytes.subarray(at, at + size)));
      expect([...lines, ...renderer.end()]).toEqual(['één ✓', 'bar 10%', 'bar 100%', 'red', 'last']);
    }
  });

  test('a line without an end is shown in pieces', () => {
    const renderer = textRenderer();
    expect(renderer.push(Buffer.alloc(200_000, 'x')).length).toBe(3);
  });

  test('an agent’s events are shown as text', async () => {
    const renderer = await rendererFor('claude-stream-json', (_name, text) => text);
    const said = { type: 'assistant', message: { content: [{ type: 'text', text: 'I \u001b[31mread\u001b[0m it.' }] } };
    expect(renderer.push(Buffer.from(`${JSON.stringify(said)}\n`))).toEqual(['I [31mread [0m it.']);
  });
});
