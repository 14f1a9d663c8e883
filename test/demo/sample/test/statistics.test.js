const assert = require('node:assert/strict');
const test = require('node:test');
const { correlation, deviation, mean, median } = require('../src');

test('mean', () => {
  assert.equal(mean([1, 2, 6]), 3);
  assert.ok(Number.isNaN(mean([])));
});
test('median of odd, even and none', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([10, 9, 1, 5]), 7);
  assert.ok(Number.isNaN(median([])));
});
test('median leaves its input alone', () => {
  const values = [3, 1, 2];
  median(values);
  assert.deepEqual(values, [3, 1, 2]);
});
test('deviation of a sample', () => {
  assert.equal(deviation([2, 4, 4, 4, 5, 5, 7, 9]).toFixed(4), '2.1381');
  assert.ok(Number.isNaN(deviation([1])));
});
test('correlation', () => {
  assert.equal(correlation([1, 2, 3], [2, 4, 6]).toFixed(6), '1.000000');
  assert.equal(correlation([1, 2, 3], [6, 4, 2]).toFixed(6), '-1.000000');
  assert.throws(() => correlation([1], [1, 2]), /different length/);
});
