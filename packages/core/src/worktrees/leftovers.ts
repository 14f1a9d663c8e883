import { DroverError } from '../shared/errors.ts';
import { type InsideExec, type InsideResult, runInside } from './inside.ts';

/**
 * Commits in the sandbox what git does not ignore and the agent has not committed, wherever its HEAD is and whatever it was in the
 * middle of. Answers whether there was something. Throws `takeover_failed` when git inside cannot be brought to it.
 */
export async function commitLeftovers(exec: InsideExec, options: { message: string }): Promise<boolean> {
  // The agent is dead: a lock that it left is nobody's any more.
  await removeInGitDir(exec, ['index.lock', 'HEAD.lock']);
  let status = await runInside(exec, [
    'status',
    '--porcelain',
    '-z',
    '--untracked-files=all',
    '--ignore-submodules=all',
  ]);
  if (status.code !== 0) {
    // An index that cannot be read is built anew from HEAD; the files themselves are what counts.
    await removeInGitDir(exec, ['index']);
    await runInside(exec, ['read-tree', '--reset', 'HEAD']);
    status = await mustRun(exec, ['status', '--porcelain', '-z', '--untracked-files=all', '--ignore-submodules=all']);
  }
  if (status.stdout.length === 0) return false;
  await mustRun(exec, ['add', '--all', '--ignore-errors', '.'], [0, 1]);
  const commit = await runInside(exec, [
    'commit',
    '--quiet',
    '--no-verify',
    '--allow-empty-message',
    '-m',
    options.message,
  ]);
  if (commit.code === 0) return true;
  // A merge, rebase or unborn branch that refuses a plain commit: the tree is committed without it.
  return commitTree(exec, options.message, commit);
}

async function commitTree(exec: InsideExec, message: string, before: InsideResult): Promise<boolean> {
  const head = await runInside(exec, ['rev-parse', '--verify', 'HEAD']);
  const tree = await mustRun(exec, ['write-tree'], [0], before);
  const parent = head.code === 0 ? ['-p', text(head)] : [];
  if (head.code === 0 && text(await runInside(exec, ['rev-parse', 'HEAD^{tree}'])) === text(tree)) return false;
  const made = await mustRun(exec, ['commit-tree', text(tree), ...parent, '-m', message], [0], before);
  await mustRun(exec, ['update-ref', '--no-deref', 'HEAD', text(made)], [0], before);
  return true;
}

async function removeInGitDir(exec: InsideExec, names: readonly string[]): Promise<void> {
  const found = await runInside(exec, ['rev-parse', '--absolute-git-dir']);
  if (found.code !== 0) return;
  const child = await exec(['rm', '-f', '--', ...names.map((name) => `${text(found)}/${name}`)]);
  child.stdin.end();
  child.stdout.resume();
  child.stderr.resume();
  await child.result;
}

async function mustRun(exec: InsideExec, args: string[], good = [0], cause?: InsideResult): Promise<InsideResult> {
  const result = await runInside(exec, args);
  if (result.code !== null && good.includes(result.code)) return result;
  const said = [cause?.stderr, result.stderr].filter(Boolean).join('; ').trim().slice(0, 300);
  throw new DroverError('takeover_failed', `git ${args[0]} in the sandbox: ${said || `exit ${result.code}`}`, '');
}

function text(result: InsideResult): string {
  return result.stdout.toString('utf8').trim();
}
