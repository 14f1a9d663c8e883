const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type StyleName = keyof typeof CODES;
export type Style = (name: StyleName, text: string) => string;

/** Colours, or none: NO_COLOR, a dumb terminal, no terminal. FORCE_COLOR wins over the last two. */
export function styleFor(isTty: boolean, env: Readonly<Record<string, string | undefined>>): Style {
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0';
  const on = !env.NO_COLOR && (forced || (isTty && env.TERM !== 'dumb'));
  if (!on) return (_name, text) => text;
  return (name, text) => `\u001b[${CODES[name][0]}m${text}\u001b[${CODES[name][1]}m`;
}
