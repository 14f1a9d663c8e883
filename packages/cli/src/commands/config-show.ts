import type { ConfigRow } from '@drover/core/config';
import { defineCommand } from '../define-command.ts';
import { cleanLine } from '../term/sanitize.ts';
import { type Column, table } from '../term/table.ts';

export const command = defineCommand({
  description:
    'As a run in this directory would have it, before its plan: shipped defaults, your file, the repository, flags.',
  examples: [
    ['drover config show', 'Every key, its value, and where it was set'],
    ['drover config show --json', 'As JSON'],
  ],
  async run(context) {
    const { out } = context;
    const [{ explainConfig }, { localConfig }] = await Promise.all([
      import('@drover/core/config'),
      import('../local-config.ts'),
    ]);
    const loaded = await localConfig(context);
    const rows = explainConfig(loaded);
    out.document({ config: rows, warnings: loaded.warnings });
    out.lines(await table(COLUMNS, rows, { width: out.width, style: out.style }));
    for (const warning of loaded.warnings) out.line(out.style('yellow', `warning: ${cleanLine(warning)}`));
    return undefined;
  },
});

const COLUMNS: ReadonlyArray<Column<ConfigRow>> = [
  { title: 'key', value: (row) => row.key },
  {
    title: 'value',
    value: (row) => row.value,
    shrink: 2,
    style: (row) => (row.layer === 'defaults' ? 'dim' : undefined),
  },
  { title: 'from', value: (row) => [row.where, ...row.notes].join('; '), shrink: 1 },
];
