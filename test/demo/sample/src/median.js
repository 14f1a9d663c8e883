/**
 * The value in the middle, or the mean of the two in the middle; NaN for no values.
 *
 * @param {number[]} values
 * @returns {number}
 */
function median(values) {
  if (values.length == 0) return NaN;
  var sorted = values.slice().sort(function (a, b) {
    return a - b;
  });
  var middle = sorted.length >> 1;
  if (sorted.length % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

module.exports = median;
