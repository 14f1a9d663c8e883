import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  exactBytes,
  formatBytes,
  formatDuration,
  formatRate,
  parseBytes,
  parseCpus,
  parseDuration,
  parsePercent,
  parseRate,
  UnitError,
} from './units.ts';

const GIB = 1024 ** 3;

describe('sizes', () => {
  it.each([
    ['2G', 2 * GIB],
    ['2GB', 2 * GIB],
    ['2GiB', 2 * GIB],
    ['2 gb', 2 * GIB],
    ['512M', 512 * 1024 ** 2],
    ['1.5G', 1.5 * GIB],
    ['4096', 4096],
    ['7B', 7],
    [4096, 4096],
    [0, 0],
  ])('%s', (written, bytes) => expect(parseBytes(written)).toBe(bytes));

  it.each(['', 'G', '-1G', '2X', '2 G B', 'none', '1e9', '99999999T', -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses %s',
    (written) => expect(() => parseBytes(written)).toThrow(UnitError),
  );

  it('reads back what it writes', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (bytes) => parseBytes(exactBytes(bytes)) === bytes));
  });

  it('is within a twentieth for people', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4096 * 1024 ** 4 }), (bytes) => {
        expect(Math.abs(parseBytes(formatBytes(bytes)) - bytes)).toBeLessThanOrEqual(bytes / 20 + 1);
      }),
    );
  });

  it('never says 1024 of a unit that has a larger one', () => {
    expect(formatBytes(1024 ** 2 - 1)).toBe('1 MB');
    expect(formatBytes(3.1 * GIB)).toBe('3.1 GB');
    expect(formatBytes(900)).toBe('900 B');
  });
});

describe('rates', () => {
  it.each([
    ['10MB/s', 10_485_760],
    ['5MB/s', 5_242_880],
    ['5M', 5_242_880],
    [1000, 1000],
  ])('%s', (written, rate) => expect(parseRate(written)).toBe(rate));
  it.each(['10MB/m', 'fast'])('refuses %s', (written) => expect(() => parseRate(written)).toThrow(UnitError));
  it('reads back', () => expect(parseRate(formatRate(10_485_760))).toBe(10_485_760));
});

describe('durations', () => {
  it.each([
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1h 30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
    ['2d', 172_800_000],
    ['0', 0],
    [0, 0],
    ['none', null],
    ['None', null],
  ])('%s', (written, ms) => expect(parseDuration(written)).toBe(ms));

  it.each(['', '30', 30, '30m1h', '5m5m', '-5m', 'soon', '5 minutes', '1e3s', '99999d'])('refuses %s', (written) =>
    expect(() => parseDuration(written)).toThrow(UnitError),
  );

  it('asks for the unit of a bare number', () => {
    try {
      parseDuration(30);
      expect.unreachable();
    } catch (error) {
      expect((error as UnitError).hint).toContain('`30m`');
    }
  });

  it('reads back what it writes', () => {
    fc.assert(
      fc.property(fc.nat(4000 * 86_400_000), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
    expect(formatDuration(null)).toBe('none');
    expect(formatDuration(5_400_000)).toBe('1h30m');
  });
});

describe('CPUs and percentages', () => {
  it('reads them', () => {
    expect(parseCpus('0.5')).toBe(0.5);
    expect(parseCpus(2)).toBe(2);
    expect(parsePercent('80%')).toBe(80);
    expect(parsePercent(80)).toBe(80);
  });
  it.each([0, -1, '0', 'many', Number.NaN])('refuses %s CPUs', (value) =>
    expect(() => parseCpus(value)).toThrow(UnitError),
  );
  it.each([-1, 101, '', '%', Number.NaN])('refuses %s percent', (value) =>
    expect(() => parsePercent(value)).toThrow(UnitError),
  );
});
