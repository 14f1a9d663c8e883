import fc from 'fast-check';
import { expect, test } from 'vitest';
import { git } from './git.ts';
import { attemptRef, isDroverRef, isRefPart, resultRef, snapshotRef } from './names.ts';
import { unquote } from './shadow-mounts.ts';
import { scratch } from './testing/repo.ts';

const root = scratch();

test('a name that is accepted makes a ref that git accepts', async () => {
  const interesting = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[a-z.@{}\\/~^:?*[ -]{1,8}(\.lock)?$/),
    fc.stringMatching(/^[a-zA-Z0-9._-]{1,64}$/),
  );
  await fc.assert(
    fc.asyncProperty(interesting, async (name) => {
      if (!isRefPart(name)) return;
      const ref = resultRef({ plan: name, task: name });
      const { code } = await git({ gitDir: root }, ['check-ref-format', ref], { okCodes: [0, 1] });
      expect(code).toBe(0);
    }),
    { numRuns: 120 },
  );
});

test('names that would be options, climb, or end as lock files are refused', () => {
  for (const bad of ['', '-x', '.x', 'a..b', 'a.lock', 'a.', 'a/b', 'a b', 'a\n', 'é', 'x'.repeat(65)]) {
    expect(isRefPart(bad), JSON.stringify(bad)).toBe(false);
  }
  expect(() => attemptRef({ plan: 'p', task: 't' }, 0)).toThrow();
  expect(attemptRef({ plan: 'p', task: 't' }, 2)).toBe('refs/drover/attempts/p/t/2');
  expect(snapshotRef({ plan: 'p', task: 't' }, 'result')).toBe('refs/drover/snapshots/p/t/result');
  expect(isDroverRef('refs/heads/drover')).toBe(false);
});

test("git's quoted paths are read back", () => {
  expect(unquote('/plain path')).toBe('/plain path');
  expect(unquote('"/a\\"b\\\\c\\nd\\303\\274"')).toBe('/a"b\\c\ndü');
});
