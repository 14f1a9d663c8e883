/**
 * What an agent or a plan wrote may reach the operator's terminal only as text: an escape sequence could
 * retitle the window, write to the clipboard or answer a query into his shell.
 */

// Whole sequences first, so that their inner text does not stay behind: CSI; OSC, DCS, APC, PM, SOS up to their end; two-byte escapes.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
const SEQUENCES = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g;
// C0 but tab and newline, DEL, C1; marks that reorder text (a name could read as another); line separators.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Text of any number of lines, without anything that steers a terminal. Tabs and newlines stay. */
export function cleanText(text: string): string {
  return text.replace(SEQUENCES, '').replace(CONTROLS, '');
}

/** The same as one line: newlines and tabs become spaces. */
export function cleanLine(text: string): string {
  return cleanText(text.replace(/\s*[\r\n]+\s*/g, ' ').replaceAll('\t', ' '));
}

/** JSON escapes C0 by itself; DEL and C1 can steer a terminal too. */
export function safeJson(value: unknown, indent?: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
  return JSON.stringify(value, null, indent).replace(/[\u007f-\u009f\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
