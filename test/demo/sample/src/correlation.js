var mean = require('./mean');

/**
 * Pearson's correlation of two columns; NaN where one of them does not vary.
 *
 * @param {number[]} xs
 * @param {number[]} ys
 * @returns {number} -1 to 1
 */
function correlation(xs, ys) {
  if (xs.length != ys.length) throw new Error('columns of different length');
  var mx = mean(xs);
  var my = mean(ys);
  var xy = 0;
  var xx = 0;
  var yy = 0;
  for (var i = 0; i < xs.length; i++) {
    xy += (xs[i] - mx) * (ys[i] - my);
    xx += (xs[i] - mx) * (xs[i] - mx);
    yy += (ys[i] - my) * (ys[i] - my);
  }
  return xy / Math.sqrt(xx * yy);
}

module.exports = correlation;
