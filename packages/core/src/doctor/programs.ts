import { helperBinary } from '@drover/helper';
import { missing, ok, warn } from './finding.ts';
import type { Check, Finding, Readers } from './types.ts';
import { atLeast } from './versions.ts';

const node: Check = {
  name: 'node',
  run({ nodeVersion }) {
    if (atLeast(nodeVersion, 20, 12)) return ok('node', nodeVersion);
    return missing('node', nodeVersion, 'Drover may not run.', 'Use Node 20.12 or later.');
  },
};

const git: Check = {
  name: 'git',
  async run(readers) {
    const version = (await readers.run('git', ['version']))?.trim();
    const fix = 'Install git 2.38 or later.';
    if (!version) return missing('git', 'not on PATH', 'Nothing works without it.', fix);
    if (atLeast(version, 2, 38)) return ok('git', version);
    return missing('git', version, 'Results of dependencies cannot be merged (git merge-tree --write-tree).', fix);
  },
};

const keeper: Check = {
  name: 'keeper',
  async run(readers) {
    const path = await readers.keeper();
    if (path) return ok('keeper', path);
    const cost = 'Agents cannot be started: nothing holds their output and exit status.';
    return missing('keeper', 'not built', cost, 'Run ./scripts/bootstrap in the checkout of drover.');
  },
};

const helper: Check = {
  name: 'helper',
  async run(readers) {
    const facts = await readers.helper();
    if ('unreachable' in facts) {
      return absentHelper(readers, facts.unreachable);
    }
    const found = `${facts.server}, cgroups ${facts.mode}, can: ${facts.capabilities.join(' ')}`;
    if (facts.missing.length === 0) return ok('helper', found);
    const lacking = facts.missing.map(({ capability, reason }) => `${capability} (${reason})`).join(', ');
    return warn('helper', found, `Not to be had here: ${lacking}.`, 'See each reason.');
  },
};

/** An engine of root starts one by itself; for anybody else that is root's decision. */
function absentHelper({ uid }: Readers, why: string): Finding {
  if (uid === 0) {
    const cost = 'What it can do here is known when it runs.';
    return warn(
      'helper',
      `${why}: the engine of root starts it when it is needed`,
      cost,
      'drover up, then drover doctor',
    );
  }
  const cost = 'Only level basic: no sandboxes and no limits.';
  return missing('helper', why, cost, `Let root start it: sudo ${helperBinary()} --allow-uid ${uid}`);
}

/** Programs that drover runs. */
export const PROGRAM_CHECKS: readonly Check[] = [node, git, keeper, helper];
