import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { differences, fingerprint } from '../support/fingerprint.ts';
import { committing, plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

describe.runIf(isRoot)('an ordinary user whom root allowed the helper', () => {
  const world = useWorld({ asUser: true });

  test('gets enhanced sandboxes, and agents that run as this user', async () => {
    const repository = await world().repository({ files: 300 });
    const before = fingerprint(repository.path);
    const result = await world().run(
      plan('mine', [
        task(
          'who',
          'id -u > uid.txt; grep CapEff /proc/self/status > caps.txt; grep NoNewPrivs /proc/self/status >> caps.txt',
        ),
        committing('next', { depends_on: ['who'] }),
        task('eater', "node -e 'const a = []; for (;;) a.push(Buffer.alloc(8 << 20, 1))'", {
          limits: { memory: '96M' },
          max_attempts: 1,
        }),
      ]),
      { repository },
    );

    expect(await world().outcomes('mine'), result.stderr).toEqual({ who: 'ok', next: 'ok', eater: 'oom_killed' });
    expect((await world().task('mine/who')).level).toBe('enhanced');
    expect(await repository.show('drover/mine/who', 'uid.txt')).toBe(String(world().user!.uid));
    expect(await repository.show('drover/mine/who', 'caps.txt')).toMatch(/CapEff:\s+0{16}\nNoNewPrivs:\s+1/);
    expect(differences(before, fingerprint(repository.path))).toEqual([]);
  });

  test('finds branches and objects that are its own', async () => {
    const [repository] = world().repositories;
    const branch = statSync(join(repository!.path, '.git/refs/heads/drover/mine/who'));
    expect(branch.uid).toBe(world().user!.uid);
  });
});
