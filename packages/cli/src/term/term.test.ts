import { describe, expect, test } from 'vitest';
import { cleanLine, cleanText, safeJson } from './sanitize.ts';
import { styleFor } from './style.ts';
import { table } from './table.ts';
import { displayWidth, loadWidths, pad, truncate } from './width.ts';

describe('control characters', () => {
  test.each([
    ['title', 'a\u001b]0;evil\u0007b', 'ab'],
    ['title, ended by ST', 'a\u001b]0;evil\u001b\\b', 'ab'],
    ['title that never ends: the line is lost, the next is not', 'a\u001b]0;evil\nb', 'a\nb'],
    ['clipboard', 'a\u001b]52;c;ZXZpbA==\u0007b', 'ab'],
    ['device control string', 'a\u001bPq#0\u001b\\b', 'ab'],
    ['colours and cursor', '\u001b[1;31mred\u001b[0m\u001b[2A\u001b[K', 'red'],
    ['private modes', '\u001b[?1049h\u001b[?25lx', 'x'],
    ['C1 of one byte', 'a\u009b31mb\u0085c\u009d0;t\u009cd', 'abcd'],
    ['charset and keypad', '\u001b(0lqk\u001b(B\u001b=x\u001bc', 'lqkx'],
    ['bell, backspace, delete, return', 'a\u0007b\u0008c\u007fd\re', 'abcde'],
    ['direction', 'abc\u202etxt.exe\u2066', 'abctxt.exe'],
    ['a cut sequence', 'abc\u001b[', 'abc'],
    ['an escape alone', 'abc\u001b', 'abc'],
    ['an escape in an escape', '\u001b\u001b[31mx', 'x'],
  ])('%s', (_what, text, clean) => expect(cleanText(text)).toBe(clean));

  test('nothing that steers is left of any bytes', () => {
    const alphabet = ['\u001b', '[', ']', '0', ';', 'm', '\u0007', '\u009b', '\\', 'P', '\n', '\r', 'x', '\u202e', '?'];
    for (let n = 0; n < 20_000; n++) {
      const text = Array.from({ length: 12 }, (_, i) => alphabet[(n * 7919 + i * i * 104_729) % alphabet.length]).join(
        '',
      );
      const bad = [...cleanText(text)].filter(
        (char) => char !== '\n' && (char < ' ' || '\u007f\u009b\u202e'.includes(char)),
      );
      expect(bad).toEqual([]);
    }
  });

  test('text stays as it is', () => {
    const text = 'héllo\twörld ✓ 日本語 👩‍👩‍👧 e\u0301';
    expect(cleanText(text)).toBe(text);
    expect(cleanLine('a\r\n  b\tc')).toBe('a b c');
  });

  test('JSON has none either, and reads back', () => {
    const value = { a: '\u001b[31m\u009b\u007f\u202e' };
    const json = safeJson(value);
    expect([...json].every((char) => char >= ' ' && char < '\u007f')).toBe(true);
    expect(JSON.parse(json)).toEqual(value);
  });
});

describe('widths', () => {
  test('wide and combining characters', async () => {
    await loadWidths(['日本']);
    expect(displayWidth('日本')).toBe(4);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(pad('日本', 6)).toBe('日本  ');
    expect(truncate('日本語です', 5)).toBe('日本…');
    expect(truncate('👩‍👩‍👧👩‍👩‍👧', 3)).toBe('👩‍👩‍👧…');
    expect(truncate('plain', 5)).toBe('plain');
  });
});

describe('tables', () => {
  const plain = styleFor(false, {});
  const columns = [
    { title: 'name', value: (r: string[]) => r[0] ?? '', shrink: 2, min: 4 },
    { title: 'n', value: (r: string[]) => r[1] ?? '', align: 'right' as const },
    { title: 'text', value: (r: string[]) => r[2] ?? '', shrink: 1, min: 4 },
  ];

  test('columns line up, the last has no blanks after it', async () => {
    const rows = [
      ['a', '1', 'x'],
      ['日本', '22', 'longer'],
    ];
    expect(await table(columns, rows, { style: plain })).toEqual(['NAME   N  TEXT', 'a      1  x', '日本  22  longer']);
  });

  test.each([30, 24, 18])('fits into %i columns', async (width) => {
    const lines = await table(columns, [['a-rather-long-name', '12345', 'and a text that is long']], {
      style: plain,
      width,
    });
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(width);
  });

  test('a cell cannot break the row', async () => {
    const lines = await table(columns, [['a\nb', '\u001b[2J1', 'x\ty']], { style: plain });
    expect(lines).toEqual(['NAME  N  TEXT', 'a b   1  x y']);
  });
});

test('colours: only where they are wanted', () => {
  const red = (tty: boolean, env: Record<string, string>) => styleFor(tty, env)('red', 'x') !== 'x';
  expect(red(true, { TERM: 'xterm' })).toBe(true);
  expect(red(false, { TERM: 'xterm' })).toBe(false);
  expect(red(true, { TERM: 'dumb' })).toBe(false);
  expect(red(true, { TERM: 'xterm', NO_COLOR: '1' })).toBe(false);
  expect(red(false, { FORCE_COLOR: '1' })).toBe(true);
  expect(red(false, { FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(false);
});
