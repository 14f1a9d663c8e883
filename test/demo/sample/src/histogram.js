/**
 * Counts values in bins of equal width from the smallest to the largest.
 *
 * @param {ArrayLike<number>} values
 * @param {number} bins
 * @returns {{from: number, to: number, count: number}[]}
 */
function histogram(values, bins) {
  var low = Infinity;
  var high = -Infinity;
  for (var i = 0; i < values.length; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  var width = (high - low) / bins || 1;
  var result = [];
  for (var b = 0; b < bins; b++) result.push({ from: low + b * width, to: low + (b + 1) * width, count: 0 });
  for (var j = 0; j < values.length; j++) {
    var bin = Math.min(bins - 1, Math.floor((values[j] - low) / width));
    result[bin].count++;
  }
  return result;
}

module.exports = histogram;
