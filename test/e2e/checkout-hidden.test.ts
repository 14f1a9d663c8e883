import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { differences, fingerprint } from '../support/fingerprint.ts';
import { plan, task } from '../support/plans.ts';
import { useWorld } from '../support/use-world.ts';
import { isRoot } from '../support/world.ts';

const world = useWorld();

/** Tries each thing and writes down what came of it; no try may end the script. */
const probe = (checkout: string, state: string) => `
  try() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name: yes"; else echo "$name: no"; fi >> probe.txt; }
  try read-checkout cat '${checkout}/dir-000/file-0001.txt'
  try list-checkout test -n "$(ls -A '${checkout}' 2>/dev/null | grep -v '^.git$')"
  try write-checkout sh -c "echo x > '${checkout}/planted.txt'"
  try write-real-config git config --file '${checkout}/.git/config' core.fsmonitor /tmp/x
  try read-database cat '${state}/drover.db'
  try talk-to-engine test -S '${state}/engine.sock'
  try other-worktree sh -c "ls '${state}'/worktrees/*/*/ | grep -v '^prober' | grep -q neighbour"
  try see-neighbour sh -c "grep -l NEIGHBOUR_WORD /proc/[0-9]*/environ"
  try mount mount -t tmpfs tmpfs /mnt
  try user-namespace unshare -Ur true
  echo "processes: $(ls -d /proc/[0-9]* | wc -l)" >> probe.txt
  echo "descriptors: $(ls /proc/self/fd | tr '\n' ' ')" >> probe.txt
`;

test.runIf(isRoot)('from within, main checkout, state and neighbours are hidden and cannot be written', async () => {
  const repository = await world().repository({ files: 200 });
  await repository.makeLivedIn();
  const before = fingerprint(repository.path);
  await world().run(
    plan('hidden', [
      task('neighbour', 'sleep 4; echo n > n.txt', { env: { NEIGHBOUR_WORD: 'seen' } }),
      task('prober', probe(repository.path, world().stateDir)),
    ]),
    { repository },
  );

  expect(await world().outcomes('hidden')).toEqual({ neighbour: 'ok', prober: 'ok' });
  const found = await repository.show('drover/hidden/prober', 'probe.txt');
  const allowed = found.split('\n').filter((line) => line.endsWith(': yes'));
  // The agent may write a config at that path: it is its own shadow, and the fingerprint below shows that it is.
  // Hooks are there as copies, so that an agent's commits are checked like the user's.
  const own = ['write-real-config: yes', 'write-checkout: yes', 'see-hook: yes'];
  expect(allowed.filter((line) => !own.includes(line))).toEqual([]);
  expect(Number(found.match(/processes: (\d+)/)![1])).toBeLessThan(8);
  expect(existsSync(join(repository.path, 'planted.txt'))).toBe(false);
  expect(differences(before, fingerprint(repository.path))).toEqual([]);
});
