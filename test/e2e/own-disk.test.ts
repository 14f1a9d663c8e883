import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { committing, plan } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

const world = useWorld();

test.runIf(isRoot)('a repository on a disk of its own, which a sandbox does not show, works as any other', async () => {
  const disk = join(world().root, 'disk');
  mkdirSync(disk);
  await execa('mount', ['-t', 'tmpfs', 'tmpfs', disk]);
  try {
    const repository = await world().repository({ at: 'disk/work/repo' });
    await world().run(plan('disk', [committing('one')]), { repository });
    expect(await world().outcomes('disk')).toEqual({ one: 'ok' });
    world().repositories.pop();
  } finally {
    await execa('umount', [disk]);
  }
});
