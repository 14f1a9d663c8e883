#!/usr/bin/env node
// Runs a command in a terminal of its own and writes what was seen as an SVG:
//   record.mjs FILE.svg FROM UNTIL COMMAND...
// FROM and UNTIL are regular expressions: of what is seen, only the lines from the first one that matches FROM to the one before
// UNTIL are kept.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Screen } from './screen.mjs';
import { animatedSvg } from './svg.mjs';

const COLUMNS = 112;
const ROWS = 34;
const MIN_GAP_MS = 400;

const [file, from, until, program, ...args] = process.argv.slice(2);
const require = createRequire(new URL('../../packages/cli/package.json', import.meta.url));
const { spawn } = require('node-pty');

const screen = new Screen(COLUMNS, ROWS);
const frames = [];
let startedAt;

const text = (row) =>
  row
    .map((cell) => cell?.char ?? ' ')
    .join('')
    .trimEnd();

function look() {
  const rows = kept(screen.visible());
  if (rows.length === 0) return;
  startedAt ??= performance.now();
  const now = rows.map(text).join('\n');
  if (frames.at(-1)?.text === now) return;
  frames.push({ atMs: Math.round(performance.now() - startedAt), text: now, rows });
}

function kept(rows) {
  const lines = rows.map(text);
  const first = lines.findIndex((line) => new RegExp(from).test(line));
  if (first < 0) return [];
  const last = lines.findIndex((line, n) => n > first && new RegExp(until).test(line));
  return trimmed(rows.slice(first, last < 0 ? undefined : last));
}

function trimmed(rows) {
  const last = rows.findLastIndex((row) => text(row) !== '');
  return rows.slice(0, last + 1);
}

const environment = { ...process.env, TERM: 'xterm-256color', FORCE_COLOR: '1', COLUMNS: String(COLUMNS) };
const terminal = spawn(program, args, { cols: COLUMNS, rows: ROWS, cwd: process.cwd(), env: environment });
terminal.onData((data) => screen.write(data));
const timer = setInterval(look, MIN_GAP_MS);
terminal.onExit(({ exitCode }) => {
  clearInterval(timer);
  look();
  writeFileSync(file, animatedSvg(frames, COLUMNS));
  console.log(`${file}: ${frames.length} frames, exit ${exitCode}`);
  process.exitCode = exitCode;
});
