import type { FleetStatus, TaskView } from '@drover/core/client';
import { type Context, defineCommand } from '../define-command.ts';
import { bytes, count } from '../format.ts';
import type { Output } from '../output.ts';
import { CURRENT } from '../task-columns.ts';
import { type Column, table } from '../term/table.ts';

interface Options {
  all?: boolean;
}

export const command = defineCommand<Options>({
  options: [{ flags: '-a, --all', description: 'Also plans that have ended, and all tasks' }],
  examples: [
    ['drover status', 'The fleet: engine, machine, plans, active tasks'],
    ['drover status demo/build', 'One task: why it stands as it does, and its attempts'],
  ],
  async run(context, [ref], options) {
    if (ref === undefined) return await fleet(context, options.all === true);
    const { showTask } = await import('../show-task.ts');
    const api = await context.engine();
    return await showTask(await api.task({ ref }), context.out);
  },
});

async function fleet(context: Context, all: boolean): Promise<undefined> {
  const { out } = context;
  const api = await context.engine();
  const status = await api.status(all ? { all } : {});
  out.document(status);
  if (out.json) return;
  out.lines(machineLines(status));
  if (status.plans.length > 0) {
    out.line();
    out.lines(await table(PLANS, status.plans, { width: out.width, style: out.style }));
  }
  await showTasks(all ? status.tasks : status.tasks.filter((task) => task.state === 'active'), out);
}

function machineLines({ engine, slots, machine }: FleetStatus): string[] {
  const memory = `${bytes(machine.memoryAvailableBytes)} of ${bytes(machine.memoryTotalBytes)} memory available`;
  const levels = engine.levels.map((l) => (l.available ? l.level : `no ${l.level} (${l.reason})`)).join(', ');
  return [
    `engine    ${engine.version}, pid ${engine.pid}, ${count(engine.openTasks, 'open task')}`,
    `agents    ${slots.used} of at most ${slots.max}`,
    `machine   ${count(machine.cpus, 'CPU')}, load ${machine.load1.toFixed(2)}, ${memory}`,
    `levels    ${levels}`,
  ];
}

type Plan = FleetStatus['plans'][number];
const figure = (title: string, value: (plan: Plan) => number): Column<Plan> => ({
  title,
  value: (plan) => String(value(plan)),
  align: 'right',
});

const PLANS: ReadonlyArray<Column<Plan>> = [
  { title: 'plan', value: (p) => p.name, shrink: 2 },
  { title: 'level', value: (p) => p.level },
  figure('active', (p) => p.counts.active),
  figure('queued', (p) => p.counts.queued),
  figure('blocked', (p) => p.counts.blocked),
  figure('ended', (p) => p.counts.ended),
  figure('ok', (p) => p.counts.ok),
  { title: 'repository', value: (p) => p.repository, shrink: 1 },
];

async function showTasks(tasks: TaskView[], out: Output): Promise<void> {
  if (tasks.length === 0) return;
  out.line();
  out.lines(await table(CURRENT, tasks, { width: out.width, style: out.style }));
}
