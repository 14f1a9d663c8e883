import { DroverError } from '../shared/errors.ts';

/** A plan's name and a task's id become parts of ref names. The same rule as in tasks/definition.ts. */
const PART = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

/** True for a name that can stand between two slashes of a ref, on any file system. */
export function isRefPart(name: string): boolean {
  return PART.test(name) && !name.endsWith('.') && !name.endsWith('.lock') && !name.includes('..');
}

export interface TaskName {
  plan: string;
  task: string;
}

/** The branch that an agent works on inside its sandbox, and that holds the accepted result: `drover/<plan>/<task>`. */
export function resultBranch(name: TaskName): string {
  return `drover/${path(name)}`;
}

export function resultRef(name: TaskName): string {
  return `refs/heads/${resultBranch(name)}`;
}

/** What attempt `n` left, whether accepted or not. */
export function attemptRef(name: TaskName, n: number): string {
  return `refs/drover/attempts/${path(name)}/${number(n)}`;
}

/** What would have been lost with a worktree or a deleted branch. */
export function snapshotRef(name: TaskName, n: number | 'result'): string {
  return `refs/drover/snapshots/${path(name)}/${n === 'result' ? n : number(n)}`;
}

/** True for refs that Drover made. They are no place where a result counts as merged, and are not shown to agents. */
export function isDroverRef(ref: string): boolean {
  return ref.startsWith('refs/drover/') || ref.startsWith('refs/heads/drover/');
}

function path({ plan, task }: TaskName): string {
  for (const part of [plan, task]) {
    if (!isRefPart(part)) {
      throw new DroverError(
        'bad_name',
        `${JSON.stringify(part)} cannot be part of a branch name`,
        'Use letters, digits, ".", "_" and "-", at most 64.',
      );
    }
  }
  return `${plan}/${task}`;
}

function number(n: number): string {
  if (!Number.isSafeInteger(n) || n < 1) throw new DroverError('bad_name', `${n} is not the number of an attempt`);
  return String(n);
}
