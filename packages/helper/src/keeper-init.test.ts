import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KeeperClient } from './index.ts';
import { execSpec, keeperWorld, processesIn, sh, startAgent, startAsUser } from './testing/keeper-world.ts';

const world = keeperWorld();
const log = (): Promise<string> => readFile(join(world.dir, 'stdout.log'), 'utf8');

describe('init and keeper', () => {
  it.runIf(process.getuid?.() === 0)(
    'are closed to an agent of the same uid: no descriptor, no memory, no trace',
    async () => {
      const look = (pid: string): string =>
        `ls /proc/${pid}/fd; cat /proc/${pid}/environ; head -c 1 /proc/${pid}/mem; readlink /proc/${pid}/exe /proc/${pid}/cwd`;
      await startAsUser(
        world,
        sh(
          `id -u; (${look('$PPID')}) 2>/dev/null; K=$(grep PPid /proc/$PPID/status | cut -f2); (${look('$K')}) 2>/dev/null; ls /proc/$$/fd | head -1; echo end`,
        ),
      );
      await KeeperClient.watch(world.dir);
      expect(await log()).toBe('64123\n0\nend\n');
    },
  );

  it.runIf(process.getuid?.() === 0)('work the same for an ordinary user', async () => {
    await startAsUser(
      world,
      sh('(setsid sh -c "trap \'\' TERM; sleep 1000" &) ; sleep 0.2; echo done > /dev/stderr; exit 3'),
    );
    const exit = await KeeperClient.watch(world.dir);
    expect(exit).toMatchObject({ code: 3, cause: 'exit' });
    expect(await log()).toBe('done\n');
    expect(processesIn(world.dir)).toEqual([]);
    const child = await KeeperClient.exec(world.dir, execSpec(world, ['id', '-u']));
    expect(String(await child.stdout.toArray())).toBe('64123\n');
  });

  it('reaps what others leave behind', async () => {
    await startAgent(
      world,
      sh('i=0; while [ $i -lt 200 ]; do (sh -c : &); i=$((i+1)); done; sleep 0.5; echo; sleep 1000'),
    );
    await expect.poll(log).toBe('\n');
    const zombies = execFileSync('ps', ['--ppid', String(world.pids[1]), '-o', 'stat=']).toString();
    expect(zombies.split('\n').filter((stat) => stat.startsWith('Z'))).toEqual([]);
  });
});
