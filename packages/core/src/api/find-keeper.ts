import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { keeperBinary } from '@drover/helper';

/** Path of the compiled keeper: in the DROVER_LIBEXEC of `env`, else where the helper's package has it; null where there is none. */
export async function findKeeper(env: Readonly<Record<string, string | undefined>>): Promise<string | null> {
  const path = env.DROVER_LIBEXEC ? join(env.DROVER_LIBEXEC, 'drover-keeper') : keeperBinary();
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return null;
  }
}
