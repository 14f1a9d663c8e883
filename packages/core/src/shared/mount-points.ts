import { readFile } from 'node:fs/promises';

/** Where file systems are mounted, as this process sees it. */
export async function mountPoints(): Promise<string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return table
    .split('\n')
    .filter(Boolean)
    .map((line) => unescapeMount(line.split(' ')[4] ?? ''));
}

/** The kernel writes space, tab, newline and backslash of a mount point in octal. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
