/** ` Did you mean ...?` when one of the known words is near, else an empty string. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const near = nearest(word, known);
  return near === null ? '' : `Did you mean \`${near}\`?`;
}

/** The known word that is nearest by edits, if it is near enough to be a slip of it. */
export function nearest(word: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(Math.min(word.length, 40) / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(fold(word), fold(candidate), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Case, `-`, `_` and camel case do not count as a difference. */
function fold(word: string): string {
  return word.slice(0, 64).toLowerCase().replace(/[-_ ]/g, '');
}

/** Edit distance in which two neighbours swapped are one edit, given up at `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  let before: number[] = [];
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? before[j - 2]! + 1 : limit;
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, change, swap));
    }
    before = row;
    row = next;
  }
  return Math.min(row[b.length]!, limit);
}
