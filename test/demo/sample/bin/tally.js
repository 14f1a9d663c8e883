#!/usr/bin/env node
var fs = require('fs');
var parseArgs = require('util').parseArgs;
var tally = require('../src');

var args = parseArgs({ allowPositionals: true, options: { column: { type: 'string' }, by: { type: 'string' } } });
if (args.positionals.length != 1 || args.values.column == undefined) {
  console.error('usage: tally FILE --column NAME [--by NAME]');
  process.exit(2);
}

var rows = tally.parseCsv(fs.readFileSync(args.positionals[0], 'utf8'));
var groups = args.values.by == undefined ? new Map([['all', rows]]) : tally.groupBy(rows, args.values.by);
var lines = Array.from(groups, function (group) {
  var figures = tally.summary(
    group[1].map(function (row) {
      return row[args.values.column];
    }),
  );
  return [group[0], figures.count, Number(figures.mean.toFixed(2)), figures.median, Number(figures.deviation.toFixed(2))];
});
console.log(tally.formatTable(['group', 'count', 'mean', 'median', 'deviation'], lines));
