/**
 * Arithmetic mean; NaN for no values.
 *
 * @param {number[]} values
 * @returns {number}
 */
function mean(values) {
  if (values.length == 0) return NaN;
  var sum = 0;
  for (var i = 0; i < values.length; i++) sum += values[i];
  return sum / values.length;
}

module.exports = mean;
