import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findCycles } from './graph.ts';

it('finds each knot once', () => {
  const tasks = [
    { id: 'a', dependsOn: ['b'] },
    { id: 'b', dependsOn: ['a'] },
    { id: 'c', dependsOn: ['c', 'a'] },
    { id: 'd', dependsOn: ['a', 'missing'] },
  ];
  expect(findCycles(tasks)).toEqual([
    ['a', 'b', 'a'],
    ['c', 'c'],
  ]);
});

it('survives a chain of any length', () => {
  const chain = Array.from({ length: 100_000 }, (_, i) => ({ id: `${i}`, dependsOn: i ? [`${i - 1}`] : [] }));
  expect(findCycles(chain.reverse())).toEqual([]);
});

it('finds none where edges only go back, and what it finds is one', () => {
  const graph = fc.array(fc.array(fc.nat(11), { maxLength: 4 }), { maxLength: 12 });
  fc.assert(
    fc.property(graph, (edges) => {
      const back = edges.map((below, i) => ({ id: `${i}`, dependsOn: below.filter((j) => j < i).map(String) }));
      expect(findCycles(back)).toEqual([]);
      const any = edges.map((below, i) => ({ id: `${i}`, dependsOn: below.map(String) }));
      for (const cycle of findCycles(any)) {
        expect(cycle.at(-1)).toBe(cycle[0]);
        cycle.slice(1).forEach((id, i) => {
          expect(any[Number(cycle[i])]?.dependsOn).toContain(id);
        });
      }
    }),
  );
});
