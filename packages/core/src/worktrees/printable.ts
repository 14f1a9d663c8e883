const MAX = 2000;

/**
 * Text that may come from an agent, made fit for a terminal and a log line: control characters (escape sequences that
 * would repaint the operator's screen) become `?`, and it is cut to a bounded length.
 */
export function printable(text: string): string {
  const cut = text.length > MAX ? `${text.slice(0, MAX)}...` : text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return cut.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '?');
}
