/** A node and the ids it depends on. */
export interface GraphTask {
  id: string;
  dependsOn: readonly string[];
}

/** Cycles, each as a path that ends where it begins: `['a', 'b', 'a']`. One for each knot, in the order of the tasks. */
export function findCycles(tasks: readonly GraphTask[]): string[][] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const done = new Set<string>();
  const cycles: string[][] = [];
  for (const task of tasks) {
    const cycle = walk(task.id, byId, done);
    if (cycle) cycles.push(cycle);
  }
  return cycles;
}

/** Depth first with a stack of its own: a chain of thousands must not end on the machine's. */
function walk(start: string, byId: ReadonlyMap<string, GraphTask>, done: Set<string>): string[] | null {
  const path: { id: string; next: number }[] = [];
  const onPath = new Set<string>();
  let cycle: string[] | null = null;
  const enter = (id: string) => {
    path.push({ id, next: 0 });
    onPath.add(id);
  };
  if (!done.has(start)) enter(start);
  while (path.length > 0) {
    const top = path.at(-1)!;
    const below = byId.get(top.id)?.dependsOn[top.next];
    top.next += 1;
    if (below === undefined) {
      path.pop();
      onPath.delete(top.id);
      done.add(top.id);
    } else if (onPath.has(below)) {
      const from = path.findIndex(({ id }) => id === below);
      cycle ??= [...path.slice(from).map(({ id }) => id), below];
    } else if (!done.has(below) && byId.has(below)) {
      enter(below);
    }
  }
  return cycle;
}
