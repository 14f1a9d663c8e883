import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  YAMLError,
} from 'yaml';
import { aliasProblem } from './aliases.ts';
import { nestedTooDeep } from './depth.ts';
import type { Issue, Position } from './issues.ts';

/** A file's text and the name it goes by in messages. */
export interface SourceText {
  file: string;
  text: string;
}

/** What was read of a file or of flags, and where each key stands. */
export interface Source {
  readonly file: string;
  readonly data: unknown;
  /** Where the key of this path stands; the nearest one above it when it is not there itself. */
  locate(path: readonly PropertyKey[]): Position | null;
  /** The key as the user knows it: a flag's own name for flags. */
  label(key: string): string;
}

export const MAX_SOURCE_BYTES = 1024 ** 2;

/** Reads YAML (JSON is read as the part of YAML that it is). Null when it cannot be read; why is added to `issues`. */
export function parseSource({ file, text }: SourceText, code: string, issues: Issue[]): Source | null {
  const found: Issue[] = [];
  const report = (message: string, hint = '', at: Position = START) =>
    found.push({ code, file, ...at, key: '', message, hint });
  const source = read({ file, text }, report);
  issues.push(...found);
  return found.length === 0 ? source : null;
}

const START: Position = { line: 1, column: 1 };

type Report = (message: string, hint?: string, at?: Position) => void;

function read({ file, text }: SourceText, report: Report): Source | null {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_SOURCE_BYTES) {
    report(`the file has ${bytes} bytes; at most ${MAX_SOURCE_BYTES} are read`);
    return null;
  }
  if (nestedTooDeep(text)) {
    report('is nested too deep to be read');
    return null;
  }
  const lines = new LineCounter();
  const at = (offset: number): Position => ({ line: lines.linePos(offset).line, column: lines.linePos(offset).col });
  try {
    const doc = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false, stringKeys: true });
    for (const error of [...doc.errors, ...doc.warnings]) report(...explain(error), at(error.pos[0]));
    const odd = oddNodes(doc);
    for (const { message, offset } of odd) report(message, '', at(offset));
    // Nothing is expanded from a document that is already refused; aliases have been counted.
    const data = doc.errors.length > 0 || odd.length > 0 ? null : doc.toJS({ maxAliasCount: -1 });
    return { file, data: data ?? {}, locate: (path) => locate(doc, path, at), label: (key) => key };
  } catch (error) {
    report(...explainThrown(error));
    return null;
  }
}

/** What the library accepts and nothing good comes of. `__proto__` would silently set a prototype somewhere. */
function oddNodes(doc: Document): { message: string; offset: number }[] {
  const aliases = aliasProblem(doc);
  const odd = aliases === null ? [] : [aliases];
  visit(doc, {
    Pair(_, { key }) {
      if (!isScalar(key) || key.value !== '__proto__') return;
      odd.push({ message: '`__proto__` cannot be a key', offset: key.range?.[0] ?? 0 });
    },
  });
  return odd;
}

/** What the YAML library says, in words that help. */
const YAML_WORDS: Record<string, [message: string, hint: string]> = {
  DUPLICATE_KEY: ['this key stands twice', 'Keep one of them.'],
  TAB_AS_INDENT: ['a tab is used for indentation', 'Indent with spaces.'],
  MULTIPLE_DOCS: ['the file holds more than one document', 'Remove what follows the `---` line.'],
  TAG_RESOLVE_FAILED: ['a tag is used that means nothing here', 'Remove the word with `!`.'],
};

function explain(error: YAMLError): [message: string, hint: string] {
  return YAML_WORDS[error.code] ?? [`cannot be read as YAML: ${firstLine(error.message)}`, ''];
}

function explainThrown(error: unknown): [message: string, hint: string] {
  if (error instanceof YAMLError) return explain(error);
  throw error;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

type At = (offset: number) => Position;

/** Goes down the path and remembers the last key that was really there. */
function locate(doc: Document, path: readonly PropertyKey[], at: At): Position {
  let node: Node | null = doc.contents as Node | null;
  let offset = node?.range?.[0];
  for (const part of path) {
    const step: Step | null = node === null ? null : child(doc, node, part);
    if (step === null) break;
    offset = step.offset ?? offset;
    node = step.node;
  }
  return at(offset ?? 0);
}

interface Step {
  node: Node | null;
  offset: number | undefined;
}

function child(doc: Document, node: Node, part: PropertyKey): Step | null {
  const resolved = resolveAlias(doc, node);
  if (isSeq(resolved)) {
    const item = resolved.items[Number(part)];
    return isNode(item) ? { node: item, offset: item.range?.[0] } : null;
  }
  if (!isMap(resolved)) return null;
  const pair = resolved.items.find((item) => keyOf(item) === String(part));
  if (pair) return stepOf(pair);
  return mergedChild(doc, resolved.items, part);
}

/** Keys that came in by `<<: *alias`. */
function mergedChild(doc: Document, pairs: readonly Pair[], part: PropertyKey): Step | null {
  for (const pair of pairs) {
    if (keyOf(pair) !== '<<' || !isNode(pair.value)) continue;
    const merged = resolveAlias(doc, pair.value);
    const parents = isSeq(merged) ? merged.items.filter(isNode) : merged ? [merged] : [];
    for (const parent of parents) {
      const found = child(doc, parent, part);
      if (found) return found;
    }
  }
  return null;
}

function resolveAlias(doc: Document, node: Node): Node | null {
  return isAlias(node) ? (node.resolve(doc) ?? null) : node;
}

function keyOf(pair: unknown): string | null {
  if (!isPair(pair)) return null;
  if (isScalar(pair.key)) return String(pair.key.source ?? pair.key.value);
  return null;
}

function stepOf(pair: Pair): Step {
  return {
    node: isNode(pair.value) ? pair.value : null,
    offset: isNode(pair.key) ? pair.key.range?.[0] : undefined,
  };
}
