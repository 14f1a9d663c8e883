import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Path, relative to the repository -> everything about that file that a user could notice. */
export type Fingerprint = Map<string, string>;

/** New objects and Drover's own refs are all that may change in a user's repository. */
const MAY_CHANGE = [/^\.git\/objects(\/|$)/, /^\.git\/(logs\/)?refs\/(heads\/)?drover(\/|$)/];

/** Hashes the whole of a checkout and its `.git`, other than what Drover may change. */
export function fingerprint(repository: string): Fingerprint {
  const found: Fingerprint = new Map();
  walk(repository, '', found);
  return found;
}

/** What differs between two fingerprints, one line each; empty when they are the same. */
export function differences(before: Fingerprint, after: Fingerprint): string[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => `${path}: ${before.get(path) ?? 'absent'} -> ${after.get(path) ?? 'absent'}`);
}

function walk(root: string, relative: string, found: Fingerprint): void {
  for (const name of readdirSync(join(root, relative))) {
    const path = relative ? `${relative}/${name}` : name;
    if (MAY_CHANGE.some((pattern) => pattern.test(path))) continue;
    const stat = lstatSync(join(root, path), { bigint: true });
    const who = `${stat.mode.toString(8)} ${stat.uid}:${stat.gid}`;
    if (stat.isDirectory()) {
      found.set(`${path}/`, who);
      walk(root, path, found);
    } else if (stat.isSymbolicLink()) {
      found.set(path, `${who} -> ${readlinkSync(join(root, path))}`);
    } else {
      found.set(path, `${who} ${stat.size} ${stat.mtimeNs} ${digest(join(root, path))}`);
    }
  }
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 16);
}
