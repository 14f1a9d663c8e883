#!/usr/bin/env node
// Runs a command in a terminal of its own and writes what was seen as an SVG:
//   record.mjs FILE.svg FROM COMMAND...
// Frames begin where a line that matches the regular expression FROM first appears.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Screen } from './screen.mjs';
import { animatedSvg } from './svg.mjs';

const COLUMNS = 112;
const ROWS = 34;
const MIN_GAP_MS = 400;

const [file, from, program, ...args] = process.argv.slice(2);
const require = createRequire(new URL('../../packages/core/package.json', import.meta.url));
const { spawn } = require('node-pty');

const screen = new Screen(COLUMNS, ROWS);
const frames = [];
let startedAt;

function look() {
  const text = screen.text();
  if (startedAt === undefined && !new RegExp(from, 'm').test(text)) return;
  startedAt ??= performance.now();
  if (frames.at(-1)?.text === text) return;
  frames.push({ atMs: Math.round(performance.now() - startedAt), text, rows: since(screen.visible()) });
}

/** Only the rows from the first match on. */
function since(rows) {
  const plain = rows.map((row) => row.map((cell) => cell?.char ?? ' ').join(''));
  return rows.slice(
    Math.max(
      0,
      plain.findIndex((line) => new RegExp(from).test(line)),
    ),
  );
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
