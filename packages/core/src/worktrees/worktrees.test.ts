import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import {
  commitLeftovers,
  createWorktree,
  deleteTaskRefs,
  isMerged,
  mergeResults,
  openRepository,
  removeWorktree,
  setResult,
  snapshotWorktree,
  takeOver,
} from './index.ts';
import { insideGit } from './inside.ts';
import { filteredConfig } from './shadow.ts';
import { Bench, child } from './testing.ts';

const bwrap = await execa('bwrap', ['--dev-bind', '/', '/', 'true']).then(
  () => true,
  () => false,
);
if (!bwrap) console.log('skipped: tests inside a shadow need bwrap');

let bench: Bench;
afterEach(() => bench?.dispose());

const REF = 'refs/drover/attempts/p/t/1';
const MAX = 100 * 1024 * 1024;

/** Everything of a `.git` but the places where commits are meant to arrive. */
async function digest(bench: Bench): Promise<string> {
  const { stdout } = await execa('sh', [
    '-c',
    'cd "$1" && find . \\( -path ./.git/objects -o -path ./.git/worktrees -o -path ./.git/refs/drover \\) -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; stat -c "%n %Y" .git/index .git/config',
    'sh',
    bench.repo,
  ]);
  return stdout;
}

describe.skipIf(!bwrap)('an agent behind the shadow', () => {
  it('has a clean status, its own branch, and all common operations', async () => {
    bench = await Bench.make();
    await bench.git('tag', 'v1');
    await bench.attempt();
    const before = await digest(bench);
    expect(await bench.inside('git status --porcelain; git branch --show-current; git describe --tags')).toBe(
      'drover/p/t\nv1\n',
    );
    await bench.inside(`
      echo x > x; git add x; git commit -qm x
      git checkout -q -b other HEAD~1; echo y > y; git add y; git commit -qm y
      git rebase -q drover/p/t; git checkout -q drover/p/t; git merge -q --no-ff -m m other
      echo z > z; git stash -qu; git stash pop -q; git tag t1; git branch -d other; git mv a.txt c.txt; git commit -qm mv
      git reset -q --hard HEAD~1; git clean -fdxq; git config a.b c; git notes add -m n; git gc -q; git worktree list >/dev/null; git fsck`);
    expect(await digest(bench)).toBe(before);
    expect(await bench.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\nrefs/tags/v1');
    await bench.git('fsck', '--strict');
  });

  it('sees neither the main checkout nor Drover refs, and cannot move its .git away', async () => {
    bench = await Bench.make();
    await bench.git('update-ref', 'refs/drover/attempts/other/x/1', 'HEAD');
    await bench.attempt();
    expect(await bench.inside(`ls -A ${bench.repo}; git for-each-ref --format='%(refname)'`)).toBe(
      '.git\nrefs/heads/drover/p/t\nrefs/heads/main\n',
    );
    await expect(bench.inside('rm -f .git')).rejects.toThrow(/busy|read-only/i);
    await expect(bench.inside('mv .git g')).rejects.toThrow(/busy|read-only/i);
    await expect(bench.inside(`echo x > ${bench.repo}/.git/base-objects/x`)).rejects.toThrow(/read-only/i);
  });
});

describe.skipIf(!bwrap)('take-over', () => {
  it('brings commits and leftovers into the user repository, whole', async () => {
    bench = await Bench.make();
    await bench.attempt();
    const before = await digest(bench);
    await bench.inside('echo 1 > one; git add one; git commit -qm one; echo 2 > "zwei ü\n"');
    expect(await commitLeftovers(bench.exec, { message: 'left' })).toBe(true);
    const taken = await takeOver(bench.repository, bench.exec, { base: bench.base, ref: REF, maxBytes: MAX });
    expect(taken.commits).toBe(2);
    expect(await bench.git('rev-parse', REF)).toBe(taken.head);
    expect(await bench.git('log', '--format=%s', REF)).toBe('left\none\nstart');
    await bench.git('fsck', '--strict', '--connectivity-only');
    expect(await digest(bench)).toBe(before);
  });

  it('can be repeated, and does nothing without commits', async () => {
    bench = await Bench.make();
    await bench.attempt();
    expect(await commitLeftovers(bench.exec, { message: 'left' })).toBe(false);
    for (let i = 0; i < 2; i++) {
      const taken = await takeOver(bench.repository, bench.exec, { base: bench.base, ref: REF, maxBytes: MAX });
      expect(taken).toEqual({ head: bench.base, commits: 0, gitlinks: [] });
    }
  });

  it.each([
    [
      'in the middle of a merge with conflicts',
      'git checkout -qb o HEAD; echo o > a.txt; git commit -qam o; git checkout -q drover/p/t; echo t > a.txt; git commit -qam t; git merge -q o || true',
    ],
    [
      'in the middle of a rebase',
      'git checkout -qb o HEAD; echo o > a.txt; git commit -qam o; git checkout -q drover/p/t; echo t > a.txt; git commit -qam t; git rebase -q o || true',
    ],
    ['with HEAD detached', 'git checkout -q --detach; echo x > x'],
    ['with a lock left behind', 'echo x > x; touch $(git rev-parse --git-dir)/index.lock'],
    ['with a broken index', 'echo x > x; echo garbage > $(git rev-parse --git-dir)/index'],
    [
      'with a pre-commit hook that fails',
      'echo x > x; d=$(git rev-parse --git-common-dir)/hooks; mkdir -p $d; printf "#!/bin/sh\\nexit 1\\n" > $d/pre-commit; chmod +x $d/pre-commit',
    ],
  ])('commits what is left %s', async (_name, script) => {
    bench = await Bench.make();
    await bench.attempt();
    await bench.inside(script);
    await commitLeftovers(bench.exec, { message: 'left' });
    const taken = await takeOver(bench.repository, bench.exec, { base: bench.base, ref: REF, maxBytes: MAX });
    expect(taken.commits).toBeGreaterThan(0);
    expect(await bench.inside('git status --porcelain')).toBe('');
  });

  it('keeps what an attempt of the same name did in an earlier life', async () => {
    bench = await Bench.make();
    await bench.git('commit', '-q', '--allow-empty', '-m', 'earlier');
    const earlier = await bench.git('rev-parse', 'HEAD');
    await bench.git('update-ref', REF, earlier);
    await bench.git('reset', '-q', '--hard', bench.base);
    await bench.attempt();
    await takeOver(bench.repository, bench.exec, { base: bench.base, ref: REF, maxBytes: MAX });
    expect(await bench.git('rev-parse', REF)).toBe(bench.base);
    expect(await bench.git('for-each-ref', '--contains', earlier, '--format=%(refname)')).toContain(
      'refs/drover/snapshots/',
    );
  });

  it('reports new submodule links', async () => {
    bench = await Bench.make();
    await bench.attempt();
    await bench.inside(
      'git init -q sub; cd sub; echo x > x; git add x; git commit -qm x; cd ..; git add sub 2>/dev/null; git commit -qm sub',
    );
    const taken = await takeOver(bench.repository, bench.exec, { base: bench.base, ref: REF, maxBytes: MAX });
    expect(taken.gitlinks).toEqual(['sub']);
  });
});

describe.skipIf(!bwrap)('a hostile sandbox', () => {
  /** Answers like git inside, but for one command. */
  function lying(command: string, script: string) {
    return async (argv: string[], env?: Record<string, string>) =>
      argv.includes(command) ? child(['sh', '-c', script], { PATH: process.env.PATH! }) : bench.exec(argv, env);
  }

  it.each([
    ['names garbage as its HEAD', 'rev-parse', 'echo "--upload-pack=evil"'],
    ['names a commit that it does not send', 'rev-parse', `echo ${'1'.repeat(40)}`],
    ['sends garbage as its pack', 'pack-objects', 'cat >/dev/null; head -c 100000 /dev/urandom'],
    ['sends nothing', 'pack-objects', 'exit 0'],
    ['sends without end', 'pack-objects', 'printf "PACK\\000\\000\\000\\002\\377\\377\\377\\377"; cat /dev/zero'],
    ['dies in the middle', 'pack-objects', 'printf "PACK\\000\\000\\000\\002"; kill -9 $$'],
    ['answers its HEAD without end', 'rev-parse', 'cat /dev/zero'],
  ])('%s: refused, and the repository is as it was', async (_name, command, script) => {
    bench = await Bench.make();
    await bench.attempt();
    await bench.inside('echo 1 > one; git add one; git commit -qm one');
    const before = await digest(bench);
    const objects = await readdir(join(bench.repo, '.git/objects'));
    await expect(
      takeOver(bench.repository, lying(command, script), { base: bench.base, ref: REF, maxBytes: 10 * 1024 * 1024 }),
    ).rejects.toMatchObject({ code: 'takeover_failed' });
    expect(await digest(bench)).toBe(before);
    expect(await readdir(join(bench.repo, '.git/objects'))).toEqual(objects);
    expect(await bench.git('for-each-ref', 'refs/drover')).toBe('');
    await bench.git('fsck', '--strict');
  });

  it('cannot bring in a tree that holds .git, nor more than the limit', async () => {
    bench = await Bench.make();
    await bench.attempt();
    await bench.inside(`
      blob=$(echo evil | git hash-object -w --stdin)
      tree=$(printf '100644 .git\\0%s' "$(echo $blob | sed 's/../\\\\x&/g')" | perl -pe 's/\\\\x(..)/chr hex $1/ge' | git hash-object -w -t tree --literally --stdin)
      git update-ref HEAD $(git commit-tree $tree -p HEAD -m evil)`);
    await expect(takeOver(bench.repository, bench.exec, { base: bench.base, ref: REF, maxBytes: MAX })).rejects.toThrow(
      /refused.*\.git/s,
    );
  });

  it('cannot bring in more than the limit', async () => {
    bench = await Bench.make();
    await bench.attempt();
    await bench.inside('head -c 300000 /dev/urandom > big; git add big; git commit -qm big');
    await expect(
      takeOver(bench.repository, bench.exec, { base: bench.base, ref: REF, maxBytes: 100_000 }),
    ).rejects.toMatchObject({
      code: 'takeover_failed',
    });
  });
});

describe('worktrees', () => {
  it('are made again where an earlier attempt to make them was cut short', async () => {
    bench = await Bench.make();
    const path = join(bench.root, 'w x\u00fc');
    const input = { repository: bench.repository, path, base: bench.base };
    const first = await createWorktree(input);
    await writeFile(join(path, 'half'), '');
    expect(await createWorktree(input)).toEqual(first);
    expect(existsSync(join(path, 'half'))).toBe(false);
    await removeWorktree(bench.repository, path);
    expect(existsSync(path)).toBe(false);
    expect(existsSync(join(bench.repo, '.git/worktrees'))).toBe(false);
  });

  it('of somebody else are never touched', async () => {
    bench = await Bench.make();
    const path = join(bench.root, 'mine');
    await bench.git('worktree', 'add', '-q', path);
    const input = { repository: bench.repository, path, base: bench.base };
    await expect(createWorktree(input)).rejects.toMatchObject({ code: 'worktree_taken' });
    await expect(removeWorktree(bench.repository, path)).rejects.toMatchObject({ code: 'worktree_taken' });
    const plain = join(bench.root, 'plain');
    await mkdir(plain);
    await expect(createWorktree({ ...input, path: plain })).rejects.toMatchObject({ code: 'worktree_taken' });
    expect(existsSync(join(path, 'a.txt'))).toBe(true);
  });
});

describe('snapshot', () => {
  const input = () => ({ path: bench.worktree.path, head: bench.base, plan: 'p', task: 't' });

  it('keeps tracked and untracked changes, and is none where nothing changed', async () => {
    bench = await Bench.make();
    await bench.attempt();
    expect(await snapshotWorktree(bench.repository, input())).toBeNull();
    await bench.write({ 'a.txt': 'changed\n', 'new/file': 'new\n' }, bench.worktree.path);
    const oid = await snapshotWorktree(bench.repository, input());
    expect(await bench.git('show', `${oid}:new/file`)).toBe('new');
    expect(await bench.git('for-each-ref', '--format=%(objectname)', 'refs/drover/snapshots/p/t')).toBe(oid);
  });

  it('runs nothing that the agent planted: filters, hooks, fsmonitor, a repointed .git', async () => {
    bench = await Bench.make();
    const canary = join(bench.root, 'canary');
    const run = `sh -c 'touch ${canary}; cat'`;
    await bench.git('config', 'filter.evil.clean', run);
    await bench.attempt();
    const path = bench.worktree.path;
    await bench.write({ '.gitattributes': '* filter=evil\n', 'x.txt': 'x\n' }, path);
    const planted = join(bench.root, 'planted');
    await execa('git', ['init', '-q', '--bare', planted]);
    await execa('git', ['config', '--file', join(planted, 'config'), 'core.fsmonitor', `touch ${canary}`]);
    await writeFile(join(path, '.git'), `gitdir: ${planted}\n`);
    await symlink('/etc/passwd', join(path, 'link'));
    const oid = await snapshotWorktree(bench.repository, input());
    expect(await bench.git('show', `${oid}:x.txt`)).toBe('x');
    expect(await bench.git('ls-tree', oid!, 'link')).toMatch(/^120000/);
    expect(existsSync(canary)).toBe(false);
  });
});

describe('results', () => {
  it('are never set over a branch that is somebody else’s or checked out', async () => {
    bench = await Bench.make();
    const set = (oid: string, expectedOld: string | null) =>
      setResult(bench.repository, { plan: 'p', task: 't', oid, expectedOld });
    await set(bench.base, null);
    await bench.git('commit', '-q', '--allow-empty', '-m', 'next');
    const next = await bench.git('rev-parse', 'HEAD');
    await expect(set(next, null)).rejects.toMatchObject({ code: 'branch_taken' });
    await set(next, bench.base);
    await bench.git('checkout', '-q', 'drover/p/t');
    await expect(set(bench.base, next)).rejects.toMatchObject({ code: 'branch_taken' });
  });

  it('that are removed stay reachable', async () => {
    bench = await Bench.make();
    await bench.git('checkout', '-q', '-b', 'work');
    await bench.git('commit', '-q', '--allow-empty', '-m', 'result');
    const oid = await bench.git('rev-parse', 'HEAD');
    await bench.git('checkout', '-q', 'main');
    await bench.git('branch', '-D', 'work');
    await setResult(bench.repository, { plan: 'p', task: 't', oid, expectedOld: null });
    expect(await isMerged(bench.repository, oid)).toBe(false);
    await deleteTaskRefs(bench.repository, { plan: 'p', task: 't', result: oid, attempts: [] });
    expect(await bench.git('for-each-ref', '--format=%(refname)', '--contains', oid)).toMatch(
      /^refs\/drover\/snapshots\/p\/t\//,
    );
    await bench.git('merge', '-q', oid);
    expect(await isMerged(bench.repository, oid)).toBe(true);
  });
});

describe('merge of results', () => {
  async function commitOn(branch: string, file: string, text: string): Promise<string> {
    await bench.git('checkout', '-q', '-B', branch, bench.base);
    await bench.write({ [file]: text });
    await bench.git('add', '.');
    await bench.git('commit', '-qm', branch);
    const oid = await bench.git('rev-parse', 'HEAD');
    await bench.git('checkout', '-q', 'main');
    return oid;
  }

  it('holds all of them, touches no checkout, and is the commit itself for one', async () => {
    bench = await Bench.make();
    const [x, y] = [await commitOn('x', 'x', 'x\n'), await commitOn('y', 'y', 'y\n')];
    expect(await mergeResults(bench.repository, [x, bench.base], { message: 'm' })).toEqual({ oid: x });
    const merged = await mergeResults(bench.repository, [x, y], { message: 'm' });
    expect(await bench.git('ls-tree', '-r', '--name-only', 'oid' in merged ? merged.oid : '')).toBe(
      'a.txt\ndir/b.txt\nx\ny',
    );
    expect(await bench.git('status', '--porcelain')).toBe('');
  });

  it('names the paths of a conflict', async () => {
    bench = await Bench.make();
    const [x, y] = [await commitOn('x', 'a.txt', 'x\n'), await commitOn('y', 'a.txt', 'y\n')];
    expect(await mergeResults(bench.repository, [x, y], { message: 'm' })).toEqual({
      conflict: { ours: x, theirs: y, paths: ['a.txt'] },
    });
  });
});

describe('repositories', () => {
  it('are found from below, from a linked worktree and when bare; elsewhere the answer is clear', async () => {
    bench = await Bench.make();
    const { key, commonDir } = bench.repository;
    expect((await openRepository(join(bench.repo, 'dir'))).key).toBe(key);
    await bench.git('worktree', 'add', '-q', join(bench.root, 'linked'));
    expect((await openRepository(join(bench.root, 'linked'))).commonDir).toBe(commonDir);
    await execa('git', ['clone', '-q', '--bare', bench.repo, join(bench.root, 'bare.git')]);
    expect(await openRepository(join(bench.root, 'bare.git'))).toMatchObject({ mainWorktree: null, name: 'bare' });
    await expect(openRepository(bench.root)).rejects.toMatchObject({ code: 'not_a_repository' });
  });
});

describe('configuration of the shadow', () => {
  it('leaves secrets and programs behind and keeps the rest, whatever the values are', async () => {
    bench = await Bench.make();
    for (const [key, value] of [
      ['remote.origin.url', 'https://user:secret@example.org/x.git'],
      ['http.https://example.org/.extraheader', 'Authorization: secret'],
      ['credential.helper', '!echo secret'],
      ['include.path', '/secret'],
      ['core.fsmonitor', '/secret'],
      ['core.hooksPath', '/secret'],
      ['core.sshCommand', 'secret'],
      ['core.worktree', bench.repo],
    ] as const)
      await bench.git('config', key, value);
    const odd = fc
      .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
      .filter((s) => !/[\0\r]/.test(s) && s.trim() === s);
    await fc.assert(
      fc.asyncProperty(
        odd,
        odd.filter((s) => !s.includes('\n')),
        async (value, sub) => {
          await bench.git('config', `drovertest.${sub}.key`, value);
          const filtered = await filteredConfig(bench.repository);
          expect(filtered).not.toContain('secret');
          await writeFile(join(bench.root, 'filtered'), filtered);
          const read = await execa('git', ['config', '--file', join(bench.root, 'filtered'), `drovertest.${sub}.key`], {
            stripFinalNewline: false,
          });
          expect(read.stdout).toBe(`${value}\n`);
          await bench.git('config', '--unset', `drovertest.${sub}.key`);
        },
      ),
      { numRuns: 30 },
    );
    expect(await readFile(join(bench.root, 'filtered'), 'utf8')).toContain('https://example.org/x.git');
  });
});

it('the engine’s own commands inside run no hook', () => {
  expect(insideGit(['status'])).toEqual(expect.arrayContaining(['core.hooksPath=/dev/null']));
});
