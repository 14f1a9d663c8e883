import { expect, it } from 'vitest';
import type { Issue } from './issues.ts';
import { MAX_SOURCE_BYTES, parseSource } from './source.ts';

function read(text: string, file = 'f.yaml') {
  const issues: Issue[] = [];
  return { source: parseSource({ file, text }, 'config_invalid', issues), issues };
}

it.each([
  ['a duplicate key', 'a: 1\nb:\n  c: 1\n  c: 2\n', 4, 'this key stands twice'],
  ['a tab', 'a:\n\tb: 1\n', 2, 'a tab is used for indentation'],
  ['two documents', 'a: 1\n---\nb: 1\n', 2, 'the file holds more than one document'],
  ['a tag', 'a: !foo 1\n', 1, 'a tag is used that means nothing here'],
  ['__proto__', 'a:\n  __proto__: {b: 1}\n', 2, '`__proto__` cannot be a key'],
])('refuses %s, with its line', (_, text, line, message) => {
  const { source, issues } = read(text);
  expect(source).toBeNull();
  expect(issues[0]).toMatchObject({ line, message, code: 'config_invalid' });
});

it('refuses an alias bomb at once', () => {
  const levels = Array.from({ length: 12 }, (_, i) =>
    i === 0
      ? 'a0: &a0 [x, x, x, x, x, x, x, x, x]'
      : `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
  );
  const { source, issues } = read(levels.join('\n'));
  expect(source).toBeNull();
  expect(issues).toMatchObject([{ message: 'aliases multiply to far too much here', line: 6 }]);
});

it.each([
  ['unknown', 'a: *b\nb: &b 1\n', 'there is no anchor `&b` before this alias'],
  ['circular', 'a: &a [*a]\n', 'the alias `*a` stands inside of what it stands for'],
  ['too many', `a: &a 1\nb: [${Array(3000).fill('*a').join(', ')}]\n`, 'there are more than 2000 aliases'],
])('refuses aliases that are %s', (_, text, message) => {
  expect(read(text).issues).toMatchObject([{ message }]);
});

it('takes a thousand tasks with one set of defaults', () => {
  expect(read(`x: &x {a: 1}\ntasks:\n${'- {<<: *x, b: 2}\n'.repeat(1000)}`).issues).toEqual([]);
});

it('refuses what is too large', () => {
  expect(read('#'.repeat(MAX_SOURCE_BYTES + 1)).issues[0]?.message).toMatch(/at most 1048576/);
});

it.each([
  ['flow', '['.repeat(1_000_000)],
  ['flow, closed', `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`],
  ['compact lists', '- '.repeat(500_000)],
  ['compact keys', '? '.repeat(500_000)],
  ['mappings', Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
])('refuses what is nested too deep: %s', (_, text) => {
  expect(read(text).issues).toMatchObject([{ message: 'is nested too deep to be read' }]);
});

it('takes brackets in texts for texts', () => {
  const text = `a: |\n  ${'['.repeat(5000)}\nb: "${'{'.repeat(5000)}"\n`;
  expect(read(text).issues).toEqual([]);
});

it('reads JSON, tabs and all', () => {
  const { source, issues } = read('{\n\t"tasks": [\n\t\t{"id": "a"}\n\t]\n}\n', 'plan.json');
  expect(issues).toEqual([]);
  expect(source?.data).toEqual({ tasks: [{ id: 'a' }] });
  expect(source?.locate(['tasks', 0, 'id'])).toEqual({ line: 3, column: 4 });
});

it('finds keys through aliases and merges', () => {
  const { source } = read('base: &b\n  x: 1\nother: *b\nmerged:\n  <<: *b\n  y: 2\n');
  expect(source?.data).toMatchObject({ merged: { x: 1, y: 2 } });
  expect(source?.locate(['other', 'x'])).toEqual({ line: 2, column: 3 });
  expect(source?.locate(['merged', 'x'])).toEqual({ line: 2, column: 3 });
  expect(source?.locate(['merged', 'y'])).toEqual({ line: 6, column: 3 });
});

it('gives the nearest place of a key that is not there', () => {
  expect(read('a:\n  b: 1\n').source?.locate(['a', 'zz', 'y'])).toEqual({ line: 1, column: 1 });
});
