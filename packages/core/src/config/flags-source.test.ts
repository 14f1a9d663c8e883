import { expect, it } from 'vitest';
import { flagsSource } from './flags-source.ts';
import { loadConfig } from './load.ts';

it('makes a tree of dotted keys', () => {
  const given = { limits: { memory: '1G' }, 'limits.cpus': '2', 'a.b.c': true, d: undefined, e: ['1'] };
  const { data } = flagsSource(given);
  expect(JSON.parse(JSON.stringify(data))).toEqual({
    limits: { memory: '1G', cpus: '2' },
    a: { b: { c: true } },
    e: ['1'],
  });
  expect(given.limits).toEqual({ memory: '1G' });
});

it('takes numbers and truth as texts, as a command line has them', () => {
  const flags = {
    'execution_engine.max_parallel_agents': '3',
    'execution_engine.scheduling.preemption_enabled': 'false',
    'limits.pids': '64',
    'limits.cpus': '0.5',
    'agents.claude.model': '4',
  };
  expect(loadConfig({ flags }).config).toMatchObject({
    maxParallelAgents: 3,
    preemptionEnabled: false,
    limits: { pids: 64, cpus: 0.5 },
    agents: { claude: { model: '4' } },
  });
});

it('reaches no prototype', () => {
  for (const key of ['__proto__.x', 'limits.__proto__.x', 'constructor.prototype.x']) {
    expect(() => loadConfig({ flags: { [key]: 1 } })).toThrow('is not a known key');
  }
  expect(({} as { x?: number }).x).toBeUndefined();
});
