import { mkdirSync } from 'node:fs';
import { describeLeaks, settledLeaks } from './leaks.ts';
import { BASE, newRun, RUN_VARIABLE } from './mark.ts';

/** Once per run: names the run, and at its end looks for whatever any of its files left. */
export default function setup(): () => Promise<void> {
  const run = newRun();
  process.env[RUN_VARIABLE] = run;
  mkdirSync(BASE, { recursive: true });
  return async () => {
    const leaks = await settledLeaks(run, 5_000);
    if (leaks.length > 0) throw new Error(`the test run has ${describeLeaks(leaks)}`);
  };
}
