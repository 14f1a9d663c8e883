import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitFiles, makeRepo, scratch, treeHashes, userGit } from './testing/repo.ts';
import { makeAttempt } from './testing/sandbox.ts';

const root = scratch();

const AGENT = { uid: 61234, gid: 61234 };

for (const identity of [undefined, AGENT]) {
  test(`every common operation works inside, the user's .git stays byte for byte (${identity ? 'own uid' : 'same uid'})`, async () => {
    const user = makeRepo(join(root, `ops-${identity?.uid ?? 'self'}`));
    commitFiles(user, { 'c.txt': '3\n' }, 'second');
    userGit(user, 'branch', 'other', 'HEAD~1');
    userGit(user, 'tag', '-a', '-m', 'one', 'v1');
    const attempt = await makeAttempt(root, user, identity ? { identity } : {});
    const before = treeHashes(join(user, '.git'));
    const checkout = treeHashes(user, (path) => path === '.git');

    expect(await attempt.git('status', '--porcelain')).toBe('');
    expect(await attempt.git('symbolic-ref', 'HEAD')).toMatch(/^refs\/heads\/drover\/plan\//);
    await attempt.agent(`
      git log --oneline --all >/dev/null
      echo new >new.txt; git add new.txt; git commit -qm new
      echo more >>a.txt; git commit -qam more; git commit -q --amend -m 'more and more'
      echo wip >>a.txt; git stash -q; git stash pop -q; git checkout -q -- a.txt
      git tag v2; git tag -a -m two v3; git tag -d v2
      git branch topic; git branch -m topic topic2; git branch -D topic2
      git checkout -q -b side HEAD~1; echo side >side.txt; git add -A; git commit -qm side
      git checkout -q -; git merge -q --no-edit side
      git rebase -q main; git rebase -q --onto main HEAD~1
      git cherry-pick side >/dev/null 2>&1 || git cherry-pick --skip
      git revert --no-edit HEAD >/dev/null
      git reset -q --hard HEAD~1; git reset -q --soft HEAD~1; git commit -qm again
      echo junk >junk; git clean -fdxq; test ! -e junk
      git notes add -m note; git bisect start HEAD HEAD~1 >/dev/null; git bisect reset
      git mv c.txt d.txt; git commit -qm moved; git rm -q d.txt; git commit -qm removed
      git config user.note x; git worktree list; T=$(mktemp -d); git worktree add -q $T/elsewhere HEAD; git worktree remove $T/elsewhere; rmdir $T
      git gc -q --prune=now; git fsck --strict; git pack-refs --all; git reflog >/dev/null
      git show v1 >/dev/null; git diff main...HEAD >/dev/null; git blame a.txt >/dev/null
      git sparse-checkout list 2>/dev/null || true
      test -z "$(git status --porcelain)"
    `);
    expect(treeHashes(join(user, '.git'))).toEqual(before);
    expect(treeHashes(user, (path) => path === '.git')).toEqual(checkout);
    expect(userGit(user, 'fsck', '--strict')).toBe('');
    expect(userGit(user, 'status', '--porcelain')).toBe('');
  });
}
