import { readFile } from 'node:fs/promises';
import { DroverError } from '@drover/core/client';

/** The text of a plan. Throws `plan_unreadable`. */
export async function readPlanFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a directory' : message;
    throw new DroverError('plan_unreadable', `The plan ${file} cannot be read: ${why}`);
  }
}
