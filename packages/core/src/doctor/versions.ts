/** Numbers of `6.1.0-18-amd64`, `v20.12.1`, `git version 2.39.5`. */
export function versionOf(text: string): number[] {
  const match = /\d+(?:\.\d+)*/.exec(text);
  return match ? match[0].split('.').map(Number) : [];
}

/** True when `text` names version `wanted` or a later one. */
export function atLeast(text: string, ...wanted: number[]): boolean {
  const have = versionOf(text);
  if (have.length === 0) return false;
  for (const [i, part] of wanted.entries()) {
    const own = have[i] ?? 0;
    if (own !== part) return own > part;
  }
  return true;
}
