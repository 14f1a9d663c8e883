var mean = require('./mean');

/**
 * Standard deviation of a sample; NaN for fewer than two values.
 *
 * @param {number[]} values
 * @returns {number}
 */
function deviation(values) {
  if (values.length < 2) return NaN;
  var centre = mean(values);
  var squares = 0;
  for (var i = 0; i < values.length; i++) squares += (values[i] - centre) * (values[i] - centre);
  return Math.sqrt(squares / (values.length - 1));
}

module.exports = deviation;
