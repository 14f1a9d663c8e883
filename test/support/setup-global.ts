import { mkdirSync, rmSync } from 'node:fs';
import { describeLeaks, settledLeaks } from './leaks.ts';
import { newRun, RUN_VARIABLE, runDirectory } from './mark.ts';

/** Once per run: names the run, and at its end looks for whatever any of its files left. */
export default function setup(): () => Promise<void> {
  const run = newRun();
  const directory = runDirectory(run);
  process.env[RUN_VARIABLE] = run;
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  return async () => {
    const leaks = await settledLeaks(run, 5_000, directory);
    rmSync(directory, { recursive: true, force: true });
    if (leaks.length > 0) throw new Error(`the test run has ${describeLeaks(leaks)}`);
  };
}
