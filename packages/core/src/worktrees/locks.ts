import { KeyedMutex } from '../shared/keyed-mutex.ts';
import type { Repository } from './repository.ts';

const mutex = new KeyedMutex();

/**
 * Worktree add and remove, ref transactions and merges of one repository run one after the other: git's own locks make
 * concurrent ones fail instead of wait. Not reentrant: only the functions of this folder's door take it.
 */
export function withRepositoryLock<T>(repo: Repository, work: () => Promise<T>): Promise<T> {
  return mutex.run(repo.commonDir, work);
}
