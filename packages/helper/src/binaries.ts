import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the programs in C are: `$DROVER_LIBEXEC`, else the checkout's build directory. */
function libexec(): string {
  return process.env.DROVER_LIBEXEC || fileURLToPath(new URL('../native/build/', import.meta.url));
}

export function helperBinary(): string {
  return join(libexec(), 'drover-helper');
}

export function keeperBinary(): string {
  return join(libexec(), 'drover-keeper');
}

export function initBinary(): string {
  return join(libexec(), 'drover-init');
}
