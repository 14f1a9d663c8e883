// Times the parser and the statistics on made-up data and prints a table in Markdown.
const { performance } = require('node:perf_hooks');
const tally = require('../src');

const ROWS = 60_000;
const text = `id,price\n${Array.from({ length: ROWS }, (_, n) => `${n},${(n * 7919) % 1000}`).join('\n')}\n`;
const values = Array.from({ length: ROWS }, (_, n) => (n * 7919) % 1000);

const best = (work) => {
  const times = Array.from({ length: 7 }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  });
  return Math.min(...times).toFixed(1);
};

console.log(`# Benchmark\n\n${ROWS} rows, best of 7, Node ${process.versions.node}\n`);
console.log('| function | ms |\n| --- | ---: |');
console.log(`| parseCsv | ${best(() => tally.parseCsv(text))} |`);
console.log(`| median | ${best(() => tally.median(values))} |`);
console.log(`| deviation | ${best(() => tally.deviation(values))} |`);
console.log(`| histogram | ${best(() => tally.histogram(values, 20))} |`);
