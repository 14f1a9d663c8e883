import { Lexer } from 'yaml';

/** Deeper than any plan, shallow enough for every recursive reader. */
const MAX_DEPTH = 100;
/** An indentation of more columns than this holds more levels than allowed, or is a slip. */
const MAX_INDENT = 400;

const SCALAR = '\x1f';
const OPENING = new Set(['[', '{']);
const CLOSING = new Set([']', '}']);
const COMPACT = new Set(['-', '?']);

/**
 * Is a text nested deeper than may be read? Told from its tokens, because the reader itself recurses and finds the end of the
 * stack only by falling over it; inside a regular expression that ends the whole process.
 */
export function nestedTooDeep(text: string): boolean {
  let flow = 0;
  let compact = 0;
  let previous = '';
  for (const token of new Lexer().lex(text)) {
    if (previous !== SCALAR) {
      if (OPENING.has(token)) flow += 1;
      if (CLOSING.has(token)) flow = Math.max(0, flow - 1);
      if (COMPACT.has(token)) compact += 1;
      if (previous.endsWith('\n') && /^ /.test(token) && token.length > MAX_INDENT) return true;
    }
    if (token.endsWith('\n')) compact = 0;
    if (flow + compact > MAX_DEPTH) return true;
    previous = token;
  }
  return false;
}
