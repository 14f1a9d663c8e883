import { DroverError } from '@drover/core/client';
import { type ExitRecord, type KeeperAttachment, KeeperClient } from '@drover/helper';

export interface AttachOptions {
  mode: 'ro' | 'rw';
  /** Into stdout.log. */
  offset: number;
  rows?: number;
  cols?: number;
}

/** Attaches to the keeper of the attempt directory `dir`. Throws `not_live` when none answers. */
export async function openKeeper(dir: string, options: AttachOptions): Promise<KeeperAttachment> {
  try {
    return await KeeperClient.attach(dir, options);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new DroverError('not_live', message, 'Read what it wrote: drover logs REF', { cause });
  }
}

/** How the agent ended; null when the connection ended before that. */
export async function exitOf(attachment: KeeperAttachment): Promise<ExitRecord | null> {
  return await attachment.exit.catch(() => null);
}
