/** A text on one line, without control characters, cut where it gets too long to be shown. */
export function oneLine(text: string, max = 160): string {
  const flat = text
    .slice(0, max * 8)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return flat.length > max ? `${flat.slice(0, max - 1)}…` : flat;
}
