/** Pieces of plan files. */
export interface PlanTask {
  id: string;
  command?: string[];
  [key: string]: unknown;
}

/** A task whose agent is a shell script. */
export function task(id: string, script: string, more: Record<string, unknown> = {}): PlanTask {
  return { id, command: ['sh', '-euc', script], ...more };
}

/** A task that commits one file of its own. */
export function committing(id: string, more: Record<string, unknown> = {}): PlanTask {
  return task(id, `echo ${id} > made-by-${id}.txt; git add -A; git commit -qm 'Work of ${id}'`, more);
}

/** A plan whose tasks may all run at once. */
export function plan(name: string, tasks: PlanTask[], more: Record<string, unknown> = {}) {
  return { name, execution_engine: { max_parallel_agents: 8 }, tasks, ...more };
}
