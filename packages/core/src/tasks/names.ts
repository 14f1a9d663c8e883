const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

/** Plan of tasks that were started by themselves; a plan file cannot take it. */
export const SOLO_PLAN = 'solo';

/** Why a name cannot be a task's id or a plan's name (it becomes a component of a branch name); null when it can. */
export function nameProblem(name: string): string | null {
  if (name === '') return 'is empty';
  if (name.length > 64) return 'is longer than 64 characters';
  if (!/^[a-zA-Z0-9]/.test(name)) return 'must begin with a letter or a digit';
  if (!NAME.test(name)) return 'may hold letters, digits, `.`, `_` and `-` only';
  if (name.includes('..')) return 'must not hold `..` (no branch can have such a name)';
  if (name.endsWith('.')) return 'must not end in `.` (no branch can have such a name)';
  if (name.toLowerCase().endsWith('.lock')) return 'must not end in `.lock` (no branch can have such a name)';
  return null;
}

/** A good name made of any text, such as a file's stem: `my plan (2)` becomes `my-plan-2`. */
export function toName(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(/[^a-zA-Z0-9._-]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .slice(0, 64)
    .replace(/^[^a-zA-Z0-9]+/, '')
    .replace(/(\.lock|[^a-zA-Z0-9])+$/i, '');
  return nameProblem(plain) === null ? plain : 'plan';
}
