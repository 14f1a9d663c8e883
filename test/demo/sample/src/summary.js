var mean = require('./mean');
var median = require('./median');
var deviation = require('./deviation');

/**
 * The figures that describe one column. Fields that are no numbers are left out and counted.
 *
 * @param {string[]} fields
 * @returns {{count: number, skipped: number, mean: number, median: number, deviation: number}}
 */
function summary(fields) {
  var values = fields.map(Number).filter(function (value, i) {
    return fields[i] != '' && !isNaN(value);
  });
  return {
    count: values.length,
    skipped: fields.length - values.length,
    mean: mean(values),
    median: median(values),
    deviation: deviation(values),
  };
}

module.exports = summary;
