import { DroverError } from '../shared/errors.ts';

export interface Position {
  line: number;
  column: number;
}

/** One thing that is wrong with a file or with flags. */
export interface Issue {
  /** `config_invalid`, `config_untrusted`, `plan_invalid`, ... */
  code: string;
  /** File as the user named it, or `flags`. */
  file: string;
  /** 1-based; null where there is no text, as with flags. */
  line: number | null;
  column: number | null;
  /** Key path such as `tasks[2].limits.memory`, or the name of the flag; empty for the file as a whole. */
  key: string;
  message: string;
  /** What to do, as a sentence; may be empty. */
  hint: string;
}

/** A configuration, plan or flags that cannot be used: everything that is wrong with them, at once. */
export class ConfigError extends DroverError {
  override readonly name = 'ConfigError';
  readonly issues: readonly Issue[];

  constructor(code: string, issues: readonly Issue[], options?: ErrorOptions) {
    super(commonCode(issues) ?? code, formatIssues(issues), '', options);
    this.issues = issues;
  }
}

/** The code that all issues share, or null. */
function commonCode(issues: readonly Issue[]): string | null {
  const codes = new Set(issues.map((issue) => issue.code));
  return codes.size === 1 ? (issues[0]?.code ?? null) : null;
}

/** Throws everything that was found, in the order of the files' lines; returns when nothing was. */
export function throwIssues(code: string, issues: readonly Issue[]): void {
  if (issues.length === 0) return;
  const files = [...new Set(issues.map((issue) => issue.file))];
  const sorted = distinct(issues).sort(
    (a, b) =>
      files.indexOf(a.file) - files.indexOf(b.file) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0),
  );
  throw new ConfigError(code, sorted);
}

/** A fault in what several tasks share is found with each of them, and told once. */
function distinct(issues: readonly Issue[]): Issue[] {
  const seen = new Map(issues.map((issue) => [JSON.stringify(issue), issue]));
  return [...seen.values()];
}

/** `file:line:column`, as far as it is known. */
export function formatPlace(place: Pick<Issue, 'file' | 'line' | 'column'>): string {
  if (place.line === null) return place.file;
  return place.column === null ? `${place.file}:${place.line}` : `${place.file}:${place.line}:${place.column}`;
}

/** All issues for a terminal: place and key, message, hint. */
export function formatIssues(issues: readonly Issue[]): string {
  const blocks = issues.map(formatIssue);
  return issues.length === 1 ? blocks.join('') : [`${issues.length} problems:`, ...blocks].join('\n');
}

function formatIssue(issue: Issue): string {
  const head = issue.key === '' ? formatPlace(issue) : `${formatPlace(issue)}  ${issue.key}`;
  const lines = [head, `    ${issue.message}`];
  if (issue.hint !== '') lines.push(`    ${issue.hint}`);
  return lines.join('\n');
}

/** Path as a key: `tasks[2].limits.memory`. */
export function formatKey(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('');
}
