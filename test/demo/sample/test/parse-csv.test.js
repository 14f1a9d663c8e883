const assert = require('node:assert/strict');
const test = require('node:test');
const { parseCsv } = require('../src');

test('reads rows by column name', () => {
  assert.deepEqual(parseCsv('a,b\n1,2\n3,4\n'), [
    { a: '1', b: '2' },
    { a: '3', b: '4' },
  ]);
});
test('keeps commas, line ends and quotes inside quotes', () => {
  assert.deepEqual(parseCsv('a,b\n"1,2","3\n""4"""'), [{ a: '1,2', b: '3\n"4"' }]);
});
test('takes a last line without an end, and Windows line ends', () => {
  assert.deepEqual(parseCsv('a\r\n1\r\n2'), [{ a: '1' }, { a: '2' }]);
});
test('has nothing to say about nothing', () => assert.deepEqual(parseCsv(''), []));
