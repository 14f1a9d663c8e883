import type * as z from 'zod';
import { formatKey, type Issue } from './issues.ts';
import { knownNames } from './schema-walk.ts';
import type { Source } from './source.ts';
import { didYouMean } from './suggest.ts';
import { describe } from './values.ts';

/** Issue at a key of a source. */
export function issueAt(source: Source, path: readonly PropertyKey[], code: string, message: string, hint = ''): Issue {
  const at = source.locate(path);
  const key = source.label(formatKey(path));
  return { code, file: source.file, line: at?.line ?? null, column: at?.column ?? null, key, message, hint };
}

/** Checks what a source holds at a path against a schema. Undefined when it does not fit; all reasons are added to `issues`. */
export function checkSource<S extends z.ZodType>(
  schema: S,
  source: Source,
  code: string,
  issues: Issue[],
  path: readonly PropertyKey[] = [],
): z.output<S> | undefined {
  const result = schema.safeParse(valueAt(source.data, path));
  if (result.success) return result.data;
  const at: Report = (below, message, hint) => issueAt(source, [...path, ...below], code, message, hint);
  for (const issue of result.error.issues) issues.push(...translate(schema, issue, at, source, path));
  return undefined;
}

type Report = (path: readonly PropertyKey[], message: string, hint?: string) => Issue;

function translate(
  schema: z.ZodType,
  issue: z.core.$ZodIssue,
  at: Report,
  source: Source,
  base: readonly PropertyKey[],
): Issue[] {
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = knownNames(schema, issue.path);
      return issue.keys.map((name) => at([...issue.path, name], 'is not a known key', unknownHint(name, known)));
    }
    case 'invalid_key':
      return [at(issue.path, 'cannot be a name', NAME_HINT)];
    case 'custom':
      return [at(issue.path, issue.message, String(issue.params?.hint ?? ''))];
    case 'invalid_type': {
      const found = describe(valueAt(source.data, [...base, ...issue.path]));
      return [at(issue.path, `must be ${issue.expected === 'array' ? 'a list' : 'a mapping'}, is ${found}`)];
    }
    default:
      return [at(issue.path, issue.message)];
  }
}

const NAME_HINT = 'Names have letters, digits, `_` and `-`, and begin with a letter or a digit.';

function unknownHint(name: string, known: readonly string[]): string {
  return didYouMean(name, known) || `Known here: ${known.join(', ')}.`;
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  let value = data;
  for (const part of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[part];
  return value;
}
