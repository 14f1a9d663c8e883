import { afterAll, expect } from 'vitest';
import { describeLeaks, settledLeaks } from './leaks.ts';
import { fileMark, MARK_VARIABLE, RUN_VARIABLE } from './mark.ts';

/**
 * Before each test file: all that it starts inherits a mark. After it (and after its own `afterAll`s, since those run in
 * reverse order): nothing on the machine may carry that mark.
 */
const run = process.env[RUN_VARIABLE];
if (!run) throw new Error(`${RUN_VARIABLE} is not set: test/support/setup-global.ts has to run first`);
const mark = fileMark(run);
process.env[MARK_VARIABLE] = mark;

afterAll(async () => {
  const leaks = await settledLeaks(mark, 3_000);
  if (leaks.length > 0) expect.fail(`this file has ${describeLeaks(leaks)}`);
});
