let measure: ((text: string) => number) | undefined;

const ASCII = /^[ -~]*$/;

/** Loads the tables of wide characters, when one of these texts needs them: most never do, and loading takes time. */
export async function loadWidths(texts: Iterable<string>): Promise<void> {
  if (measure) return;
  for (const text of texts) {
    if (ASCII.test(text)) continue;
    measure = (await import('string-width')).default;
    return;
  }
}

/** Columns that `text` takes on a terminal. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  return measure ? measure(text) : [...text].length;
}

/** At most `columns` wide; what was cut is shown by an ellipsis. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns <= 1) return '…'.slice(0, Math.max(0, columns));
  let kept = '';
  let width = 0;
  for (const char of graphemes(text)) {
    const w = displayWidth(char);
    if (width + w > columns - 1) break;
    kept += char;
    width += w;
  }
  return `${kept}…`;
}

function graphemes(text: string): Iterable<string> {
  if (ASCII.test(text)) return text;
  return Array.from(new Intl.Segmenter().segment(text), (s) => s.segment);
}

/** Filled with spaces to `columns`. */
export function pad(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const fill = ' '.repeat(Math.max(0, columns - displayWidth(text)));
  return align === 'right' ? fill + text : text + fill;
}
