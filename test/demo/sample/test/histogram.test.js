const assert = require('node:assert/strict');
const test = require('node:test');
const { histogram } = require('../src');

test('counts every value once', () => {
  const bins = histogram([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 5);
  assert.deepEqual(bins.map((bin) => bin.count), [2, 2, 2, 2, 2]);
});
test('the largest value belongs to the last bin', () => {
  assert.equal(histogram([0, 10], 2)[1].count, 1);
});
test('values that are all the same', () => {
  assert.equal(histogram([4, 4, 4], 3).reduce((sum, bin) => sum + bin.count, 0), 3);
});
