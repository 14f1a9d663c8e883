import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { committing, plan } from '../support/plans.ts';
import { createRepository } from '../support/repository.ts';
import { useWorld } from '../support/use-world.ts';
import { temporaryDirectory } from '../support/world.ts';

const world = useWorld();
const directory = temporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true }));

test('a repository below /tmp works, although a sandbox has a /tmp of its own', async () => {
  const repository = await createRepository(join(directory, 'repository'), world().env);
  const result = await world().run(plan('temporary', [committing('one')]), { repository });
  expect(result.exitCode, result.stderr).toBe(0);
  expect(await repository.branches()).toEqual(['drover/temporary/one']);
});
