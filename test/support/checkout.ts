import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where this checkout and the programs built in it are. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const DROVER = join(ROOT, 'packages/cli/dist/main.js');
export const NATIVE = join(ROOT, 'packages/helper/native/build');
