import { describe, expect, test } from 'vitest';
import { differences, fingerprint } from '../support/fingerprint.ts';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

describe('an ordinary user without a helper', () => {
  const world = useWorld({ asUser: isRoot, helper: false });

  test('is told first that the level is basic and why, and gets the plan done', async () => {
    const repository = await world().repository({ files: 300 });
    const before = fingerprint(repository.path);
    const result = await world().run(
      plan('simple', [committing('first'), committing('second', { depends_on: ['first'] }), task('fails', 'exit 1')]),
      { repository },
    );

    expect(`${result.stderr}${result.stdout}`).toMatch(/basic.*helper/i);
    expect(await world().outcomes('simple')).toEqual({ first: 'ok', second: 'ok', fails: 'agent_error' });
    expect((await world().task('simple/first')).level).toBe('basic');
    expect(differences(before, fingerprint(repository.path))).toEqual([]);
  });

  test('is refused a level that cannot be had, by name, before anything starts', async () => {
    const [repository] = world().repositories;
    const asking = plan('asking', [committing('one')], { execution_engine: { isolation_level: 'enhanced' } });
    const result = await world().run(asking, { repository: repository! });
    expect(result.exitCode).not.toBe(0);
    expect(result.stderr).toMatch(/enhanced/);
    expect((await world().tasks()).has('asking/one')).toBe(false);
  });

  test('stops what double-forked away from it', async () => {
    const [repository] = world().repositories;
    const away = '(setsid sleep 300 &) ; (setsid sh -c "trap \'\' TERM; sleep 300 & wait" &) ; echo ok > away.txt';
    await world().run(plan('away', [task('runs-away', away)]), { repository: repository! });
    expect((await world().task('away/runs-away')).outcome).toBe('ok');
  });
});

describe.runIf(isRoot)('root', () => {
  const world = useWorld();

  test('is refused the level basic: an agent would run as root', async () => {
    const repository = await world().repository();
    const run = { repository, flags: ['--level', 'basic'] };
    const result = await world().run(plan('rooted', [committing('one')]), run);
    expect(result.exitCode, result.stderr).toBe(5);
    expect(result.stderr).toMatch(/root/);
    expect(await repository.branches()).toEqual([]);
  });
});
