// Draws millions of values and writes their histogram as JSON: the check that the bins hold at scale. Needs memory.
const { histogram } = require('../src');

const COUNT = 12_000_000;
const values = new Float64Array(COUNT);
let state = 42;
const random = () => {
  state = (state * 1_664_525 + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
for (let i = 0; i < COUNT; i++) values[i] = random() + random() + random();
const bins = histogram(values, 12).map((bin) => ({ from: Number(bin.from.toFixed(3)), count: bin.count }));
console.log(JSON.stringify({ count: COUNT, bins }, null, 2));
