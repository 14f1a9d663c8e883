import { readFile } from 'node:fs/promises';
import { DroverError } from '@drover/core/client';

/** The text of a plan. Throws `plan_unreadable`. */
export async function readPlanFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new DroverError('plan_unreadable', `The plan ${file} cannot be read: ${(error as Error).message}`);
  }
}
