import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

const world = useWorld({
  asUser: isRoot,
  env: { AWS_SECRET_ACCESS_KEY: 'word-of-the-cloud', SSH_AUTH_SOCK: '/nowhere', GREETING: 'unlisted' },
});

test('an agent gets a home and an environment of its own, without the secrets of others', async () => {
  const repository = await world().repository();
  mkdirSync(join(world().home, '.ssh'), { mode: 0o700 });
  writeFileSync(join(world().home, '.ssh', 'id_ed25519'), 'PRIVATE KEY\n', { mode: 0o600 });
  await world().giveToUser(join(world().home, '.ssh'));
  const script = `
    env | grep -cE 'AWS_|SSH_AUTH_SOCK|GREETING' > found.txt || true
    ls -A ~/.ssh 2>/dev/null | wc -l >> found.txt
    git config user.email >> found.txt
    echo planted > ~/planted; test -w ~ && echo writable >> found.txt
    echo "$PLAN_WORD" >> found.txt
  `;
  await world().run(plan('own', [task('looks', script, { env: { PLAN_WORD: 'from the plan' } })]), { repository });

  expect(await world().outcomes('own')).toEqual({ looks: 'ok' });
  const found = (await repository.show('drover/own/looks', 'found.txt')).split('\n').map((line) => line.trim());
  expect(found).toEqual(['0', '0', 'sam@example.invalid', 'writable', 'from the plan']);
  expect(existsSync(join(world().home, 'planted'))).toBe(false);
});
