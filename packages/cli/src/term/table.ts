import { cleanLine } from './sanitize.ts';
import type { Style, StyleName } from './style.ts';
import { displayWidth, loadWidths, pad, truncate } from './width.ts';

export interface Column<Row> {
  title: string;
  value(row: Row): string;
  align?: 'left' | 'right';
  style?(row: Row): StyleName | undefined;
  /** Narrowed where the table is too wide: lower numbers first, columns without it never. */
  shrink?: number;
  /** Not narrower than this. */
  min?: number;
}

const GAP = '  ';

/** Lines of a table with a header. With `width` it fits into it; cells are cleaned of control characters. */
export async function table<Row>(
  columns: ReadonlyArray<Column<Row>>,
  rows: readonly Row[],
  options: { width?: number | undefined; style: Style },
): Promise<string[]> {
  const cells = rows.map((row) => columns.map((column) => cleanLine(column.value(row))));
  await loadWidths(cells.flat());
  const widths = fit(columns, naturalWidths(columns, cells), options.width);
  const header = columns.map((column, i) => place(column.title.toUpperCase(), column, widths[i] ?? 0));
  const lines = cells.map((line, r) =>
    line.map((cell, i) => {
      const column = columns[i] as Column<Row>;
      const style = column.style?.(rows[r] as Row);
      const text = place(cell, column, widths[i] ?? 0);
      return style ? options.style(style, text) : text;
    }),
  );
  return [options.style('dim', join(header)), ...lines.map(join)];
}

const join = (cells: string[]) => cells.join(GAP).trimEnd();

function place<Row>(text: string, column: Column<Row>, width: number): string {
  return pad(truncate(text, width), width, column.align);
}

function naturalWidths<Row>(columns: ReadonlyArray<Column<Row>>, cells: string[][]): number[] {
  return columns.map((column, i) => Math.max(column.title.length, ...cells.map((line) => displayWidth(line[i] ?? ''))));
}

function fit<Row>(columns: ReadonlyArray<Column<Row>>, natural: number[], width: number | undefined): number[] {
  const widths = [...natural];
  if (width === undefined) return widths;
  let over = widths.reduce((a, b) => a + b, 0) + GAP.length * (columns.length - 1) - width;
  const order = columns
    .map((column, i) => ({ i, shrink: column.shrink, min: column.min ?? 8 }))
    .filter((c) => c.shrink !== undefined)
    .sort((a, b) => (a.shrink ?? 0) - (b.shrink ?? 0));
  for (const { i, min } of order) {
    if (over <= 0) break;
    const now = widths[i] ?? 0;
    const cut = Math.min(over, Math.max(0, now - min));
    widths[i] = now - cut;
    over -= cut;
  }
  return widths;
}
