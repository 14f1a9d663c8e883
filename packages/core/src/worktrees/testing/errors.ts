import { DroverError } from '../../shared/errors.ts';

/** The code of the DroverError that `work` rejects with; `null` when it resolves. Any other error is thrown on. */
export async function codeOf(work: Promise<unknown>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof DroverError) return error.code;
    throw error;
  }
}
