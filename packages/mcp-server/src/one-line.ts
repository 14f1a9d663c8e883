const MARKS = '\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';
const CONTROLS = new RegExp(`[\\u0000-\\u001f\\u007f-\\u009f${MARKS}]+`, 'g');

/** Text of an agent as one line without control characters, at most `max` characters. */
export function oneLine(text: string, max: number): string {
  const line = text.replace(CONTROLS, ' ').trim();
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}
