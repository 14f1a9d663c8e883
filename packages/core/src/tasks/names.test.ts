import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nameProblem, toName } from './names.ts';

it.each(['a', 'setup-environment', 'v1.2_x', '0'])('takes %s', (name) => expect(nameProblem(name)).toBeNull());

it.each(['', '-a', '.a', 'a/b', 'a b', 'a..b', 'a.', 'a.lock', 'A.LOCK', 'é', 'a~1', 'a:b', 'x'.repeat(65)])(
  'refuses %s',
  (name) => expect(nameProblem(name)).not.toBeNull(),
);

it('makes a good name of any text', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => nameProblem(toName(text)) === null));
  expect(toName('my plan (2)')).toBe('my-plan-2');
  expect(toName('nightly.lock')).toBe('nightly');
  expect(toName('計画')).toBe('plan');
});

it('leaves a good name as it is', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9]{0,40}$/), (name) => {
      expect(toName(name)).toBe(name);
    }),
  );
});
