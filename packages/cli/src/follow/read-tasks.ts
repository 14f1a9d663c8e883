import type { EngineApi, TaskView } from '@drover/core/client';

/** Up to so many tasks are asked for one by one: a plan such as `solo` may hold thousands. */
const SINGLE_MAX = 4;

/** The views of these tasks, in the order of `refs`. */
export async function readTasks(api: EngineApi, refs: readonly string[]): Promise<TaskView[]> {
  if (refs.length <= SINGLE_MAX) return await Promise.all(refs.map((ref) => api.task({ ref })));
  const plans = new Set(refs.map((ref) => ref.slice(0, ref.indexOf('/'))));
  const found = new Map<string, TaskView>();
  for (const plan of plans) {
    for (const task of (await api.status({ plan, all: true })).tasks) found.set(task.ref, task);
  }
  return refs.flatMap((ref) => found.get(ref) ?? []);
}
