import type { AgentIdentity } from '../sandbox/types.ts';
import { requireTool } from './tool.ts';

/**
 * Gives a tree to the agent's uid and gid: every entry, links themselves and never what they point to.
 *
 * Only entries of another owner are touched. A file with further hard links that belongs to the engine is left alone:
 * git makes none in a checkout, so it can only be a link that was planted to have a foreign file given away.
 */
export async function giveTree(path: string, identity: AgentIdentity): Promise<void> {
  const { uid, gid } = identity;
  if (isSelf(identity)) return;
  const foreign = ['(', '!', '-user', `${uid}`, '-o', '!', '-group', `${gid}`, ')'];
  const safe = ['(', '-type', 'd', '-o', '-links', '1', '-o', '!', '-user', `${process.getuid?.()}`, ')'];
  const chown = ['-exec', 'chown', '-h', `${uid}:${gid}`, '{}', '+'];
  await requireTool(
    ['find', '-P', path, '-xdev', ...foreign, ...safe, ...chown],
    'chown_failed',
    `${path} could not be given to uid ${uid}`,
  );
}

/** True when the agent runs as the engine's own user. */
export function isSelf({ uid, gid }: AgentIdentity): boolean {
  return uid === process.getuid?.() && gid === process.getgid?.();
}
