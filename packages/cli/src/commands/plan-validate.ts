import { availableParallelism, totalmem } from 'node:os';
import { resolve } from 'node:path';
import type { PlanDefinition, TaskDefinition } from '@drover/core/plan';
import { defineCommand } from '../define-command.ts';
import { bytes } from '../format.ts';
import { readPlanFile } from '../read-plan.ts';
import { cleanLine } from '../term/sanitize.ts';
import { type Column, table } from '../term/table.ts';

interface Options {
  agent?: string;
}

export const command = defineCommand<Options>({
  description:
    'Says everything that is wrong, with file, line and key (exit code 2), or how each task would be run. Starts nothing.',
  options: [{ flags: '--agent <name>', description: 'As with run: this agent for every task' }],
  examples: [
    ['drover plan validate tasks.yaml', 'Check it'],
    ['drover plan validate tasks.yaml --json', 'Each task as it would be run, as JSON'],
  ],
  async run(context, [path = ''], options) {
    const file = resolve(context.cwd, path);
    const text = await readPlanFile(file);
    const [{ loadPlan }, { AGENTS }, { localConfig }] = await Promise.all([
      import('@drover/core/plan'),
      import('@drover/core/agents'),
      import('../local-config.ts'),
    ]);
    const machine = { cpus: availableParallelism(), memoryBytes: totalmem() };
    const config = await localConfig(context);
    const plan = loadPlan({ file: path, text, config, adapters: AGENTS, agent: options.agent, machine });
    await show(plan, context.out);
    return undefined;
  },
});

async function show(plan: PlanDefinition, out: Parameters<typeof command.run>[0]['out']): Promise<void> {
  out.document(plan);
  const noun = plan.tasks.length === 1 ? 'task' : 'tasks';
  out.line(
    `${plan.name}: ${plan.tasks.length} ${noun}, at most ${plan.maxParallelAgents} at a time, from ${cleanLine(plan.base)}`,
  );
  for (const warning of plan.warnings) out.line(out.style('yellow', `warning: ${cleanLine(warning)}`));
  out.lines(await table(COLUMNS, plan.tasks, { width: out.width, style: out.style }));
}

const COLUMNS: ReadonlyArray<Column<TaskDefinition>> = [
  { title: 'task', value: (t) => t.id, shrink: 3 },
  { title: 'agent', value: (t) => t.agent },
  { title: 'after', value: (t) => t.dependsOn.join(' ') || '-', shrink: 2 },
  { title: 'expects', value: (t) => t.expects },
  { title: 'memory', value: (t) => bytes(t.limits.memory), align: 'right' },
  { title: 'work', value: (t) => t.prompt ?? t.command?.join(' ') ?? '-', shrink: 1, min: 10 },
];
