import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useWorld } from '../support/use-world.ts';

const world = useWorld();

const REFUSED: [name: string, text: string, says: RegExp][] = [
  ['an unknown key', 'tasks:\n  - id: a\n    command: ["true"]\n    comand: x\n', /plan\.yaml:4.*comand/s],
  [
    'a cycle',
    'tasks:\n  - {id: a, command: ["true"], depends_on: b}\n  - {id: b, command: ["true"], depends_on: a}\n',
    /plan\.yaml:2.*cycle: a -> b -> a/s,
  ],
  ['a missing dependency', 'tasks:\n  - {id: a, command: ["true"], depends_on: nobody}\n', /plan\.yaml:2.*nobody/s],
  [
    'two tasks of one id',
    'tasks:\n  - {id: a, command: ["true"]}\n  - {id: a, command: ["true"]}\n',
    /plan\.yaml:3.*\ba\b/s,
  ],
  ['an impossible limit', 'tasks:\n  - {id: a, command: ["true"], limits: {memory: -5M}}\n', /plan\.yaml:2.*memory/s],
  ['more memory than there is', 'tasks:\n  - {id: a, command: ["true"], limits: {memory: 900T}}\n', /memory/],
  [
    'a task with nothing to do',
    'tasks:\n  - {id: lonely, type: setup}\n',
    /lonely.*(prompt|command)|(prompt|command).*lonely/s,
  ],
  ['an unknown agent', 'tasks:\n  - {id: a, agent: nonesuch, prompt: hello}\n', /nonesuch/],
  ['an id that is no branch name', 'tasks:\n  - {id: "a..b", command: ["true"]}\n', /plan\.yaml:2.*a\.\.b/s],
  ['a base that is not there', 'base: no-such-branch\ntasks:\n  - {id: a, command: ["true"]}\n', /no-such-branch/],
  ['what is no YAML', 'tasks: [\n', /plan\.yaml:\d/],
  ['no tasks', 'tasks: []\n', /tasks/],
];

test.each(REFUSED)('%s is refused with its place, and nothing starts', async (_name, text, says) => {
  const repository = world().repositories[0] ?? (await world().repository());
  const result = await world().run(text, { repository });
  expect(result.exitCode, result.stderr).toBe(2);
  expect(result.stderr).toMatch(says);
  expect(await repository.branches()).toEqual([]);
  expect(existsSync(join(world().stateDir, 'worktrees'))).toBe(false);
});

test('validate says the same without running anything', async () => {
  const [repository] = world().repositories;
  for (const [, text, says] of REFUSED.slice(0, 3)) {
    const result = await world().drover(repository!.path, ['plan', 'validate', world().writePlan(text)]);
    expect(result.exitCode, result.stderr).toBe(2);
    expect(result.stderr + result.stdout).toMatch(says);
  }
});
