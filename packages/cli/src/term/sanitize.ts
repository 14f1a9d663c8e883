/**
 * What an agent or a plan wrote may reach the operator's terminal only as text: an escape sequence could
 * retitle the window, write to the clipboard or answer a query into his shell.
 */

const ESC = '\\u001b';
const END_OF_STRING = `(?:\\u0007|${ESC}\\\\|\\u009c)`;

// Whole sequences first, so that their inner text does not stay behind.
const SEQUENCES = new RegExp(
  [
    // CSI: parameters, intermediates, a final byte.
    `(?:${ESC}\\[|\\u009b)[0-?]*[ -/]*[@-~]?`,
    // OSC, DCS, SOS, PM, APC: everything up to their end, or to the end of the line.
    `(?:${ESC}[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007${ESC}\\u009c\\n]*${END_OF_STRING}?`,
    // What is left of two and three bytes.
    `${ESC}[ -/]*[0-~]?`,
  ].join('|'),
  'g',
);

// C0 but tab and newline, DEL, C1; marks that reorder text (a name could read as another); line separators.
const MARKS = '\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff';
const CONTROLS = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f${MARKS}]`, 'g');
const JSON_CONTROLS = new RegExp(`[\\u007f-\\u009f${MARKS}]`, 'g');

/** Text of any number of lines, without anything that steers a terminal. Tabs and newlines stay. */
export function cleanText(text: string): string {
  return text.replace(SEQUENCES, '').replace(CONTROLS, '');
}

/** The same as one line: newlines and tabs become spaces. */
export function cleanLine(text: string): string {
  return cleanText(text.replace(/\s*[\r\n]+\s*/g, ' ').replaceAll('\t', ' '));
}

/** JSON escapes C0 by itself; the others can steer a terminal too. */
export function safeJson(value: unknown, indent?: number): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, indent).replace(JSON_CONTROLS, escaped);
}
