import { mkdirSync } from 'node:fs';
import { describeLeaks, settledLeaks } from './leaks.ts';
import { BASE, newRun, RUN_VARIABLE } from './mark.ts';
import { installRealClaude } from './real-claude.ts';

/**
 * Once per run: gets what tests look for when they are loaded (where `scripts/test` says so), names the run, and at its end looks for whatever any of its files left.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const run = newRun();
  process.env[RUN_VARIABLE] = run;
  mkdirSync(BASE, { recursive: true });
  if (process.env.DROVER_TEST_INSTALL) await installRealClaude();
  return async () => {
    const leaks = await settledLeaks(run, 5_000);
    if (leaks.length > 0) throw new Error(`the test run has ${describeLeaks(leaks)}`);
  };
}
