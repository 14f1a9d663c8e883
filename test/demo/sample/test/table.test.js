const assert = require('node:assert/strict');
const { execFileSync, spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const test = require('node:test');
const { formatTable, groupBy, summary } = require('../src');

const program = join(__dirname, '../bin/tally.js');

test('numbers stand to the right', () => {
  assert.equal(formatTable(['n', 'value'], [['a', 5], ['bb', 12345]]), 'n   value\na       5\nbb  12345');
});
test('groups keep their order', () => {
  const rows = [{ k: 'x', v: 1 }, { k: 'y', v: 2 }, { k: 'x', v: 3 }];
  assert.deepEqual([...groupBy(rows, 'k').keys()], ['x', 'y']);
});
test('summary skips what is no number', () => {
  const { count, skipped, mean } = summary(['1', '', 'n/a', '3']);
  assert.deepEqual([count, skipped, mean], [2, 2, 2]);
});
test('the command reads a file', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'tally-'));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'd.csv'), 'region,price\nnorth,1\nsouth,5\nnorth,3\n');
  const out = execFileSync(process.execPath, [program, join(directory, 'd.csv'), '--column', 'price', '--by', 'region']);
  assert.match(String(out), /^north +2 +2 +2 /m);
});
test('the command says how it is used', () => {
  const { status, stderr } = spawnSync(process.execPath, [program]);
  assert.equal(status, 2);
  assert.match(String(stderr), /usage/);
});
