import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { LineReader } from './lines.ts';

function collect(max?: number) {
  const lines: string[] = [];
  const dropped: number[] = [];
  const reader = new LineReader(
    (line) => lines.push(line),
    (length) => dropped.push(length),
    max,
  );
  return { lines, dropped, reader };
}

it('gives the same lines however the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.integer({ min: 1, max: 7 }), (texts, size) => {
      const wanted = texts.map((text) => text.replace(/[\r\n]/g, ' '));
      const bytes = Buffer.from(wanted.map((line) => `${line}\n`).join(''));
      const { lines, reader } = collect();
      for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
      reader.end();
      expect(lines).toEqual(wanted);
    }),
  );
});

it('gives a last line without a newline', () => {
  const { lines, reader } = collect();
  reader.push(Buffer.from('a\r\nb'));
  reader.end();
  expect(lines).toEqual(['a', 'b']);
});

it('drops a line over the cap, says so, and goes on', () => {
  const { lines, dropped, reader } = collect(10);
  reader.push(Buffer.from('short\n'));
  for (let i = 0; i < 100; i++) reader.push(Buffer.from('xxxxxxx'));
  reader.push(Buffer.from('\nnext\n'));
  expect(lines).toEqual(['short', 'next']);
  expect(dropped).toEqual([700]);
});
