import { expect, test } from 'vitest';
import { differences, fingerprint } from '../support/fingerprint.ts';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

const world = useWorld();

test.runIf(isRoot)(
  'an agent that breaks its git breaks its own, is told so in its outcome, and harms no one',
  async () => {
    const repository = await world().repository({ files: 100 });
    await repository.makeLivedIn();
    const before = fingerprint(repository.path);
    await world().run(
      plan('wreck', [
        task('removes', 'echo x > x.txt; rm -rf "$(git rev-parse --git-common-dir)"/* .git || true'),
        task(
          'corrupts',
          'echo x > x.txt; git add -A; git commit -qm x; head -c 200 /dev/urandom > "$(git rev-parse --git-dir)/HEAD"',
        ),
        task(
          'plants',
          `d=$(git rev-parse --git-common-dir); mkdir -p "$d/hooks"
        printf '#!/bin/sh\\ntouch /tmp/planted' > "$d/hooks/pre-commit"; chmod +x "$d/hooks/pre-commit"
        git config core.fsmonitor 'touch /tmp/planted'; echo x > planted.txt`,
        ),
        task('sound', 'echo s > s.txt'),
      ]),
      { repository },
    );

    const outcomes = await world().outcomes('wreck');
    expect(outcomes.sound).toBe('ok');
    expect(Object.keys(outcomes)).toHaveLength(4);
    expect(Object.values(outcomes)).not.toContain('active');
    expect(differences(before, fingerprint(repository.path))).toEqual([]);
    await repository.git('fsck', '--strict', '--no-dangling');
  },
);
