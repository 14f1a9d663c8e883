import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Path of the compiled keeper: in DROVER_LIBEXEC, else in the checkout's build; null where there is none. */
export async function findKeeper(env: Readonly<Record<string, string | undefined>>): Promise<string | null> {
  const built = fileURLToPath(new URL('../../../helper/native/build', import.meta.url));
  const path = join(env.DROVER_LIBEXEC || built, 'drover-keeper');
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return null;
  }
}
