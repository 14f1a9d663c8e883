import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ConfigError, explainConfig, type LoadedConfig, loadConfig, withLayer } from './index.ts';
import type { Issue } from './issues.ts';
import { parseSource } from './source.ts';

const GIB = 1024 ** 3;
const article = readFileSync(new URL('../../../../test/fixtures/seeds/execution-engine.yaml', import.meta.url), 'utf8');

const user = (text: string) => ({ file: 'user.yaml', text });
const repository = (text: string) => ({ file: '.drover/config.yaml', text });

function issuesOf(load: () => unknown): readonly Issue[] {
  try {
    load();
  } catch (error) {
    return (error as ConfigError).issues;
  }
  throw new Error('nothing was refused');
}

describe('shipped defaults', () => {
  it('limit memory and pids only', () => {
    const { config } = loadConfig();
    expect(config.limits).toEqual({ memory: 4 * GIB, pids: 1024 });
    expect(config.limitsAsked).toEqual([]);
    expect(config.isolationLevel).toBeUndefined();
    expect(config.defaultAgent).toBe('claude');
    expect(config.timeouts).toEqual({
      wallMs: 7_200_000,
      idleMs: 1_800_000,
      graceMs: 10_000,
      setupMs: 900_000,
      verifyMs: 1_800_000,
    });
  });

  it('say nothing of what has no effect', () => expect(loadConfig().warnings).toEqual([]));
});

describe("the article's block", () => {
  const loaded = loadConfig({ user: { file: 'execution-engine.yaml', text: article } });

  it('loads exactly', () => {
    expect(loaded.config).toMatchObject({
      maxParallelAgents: 10,
      isolationLevel: 'enhanced',
      limits: { cpus: 0.5, memory: 2 * GIB, readBps: 10_485_760, writeBps: 5_242_880, pids: 1024 },
      limitsAsked: ['cpus', 'memory', 'readBps', 'writeBps'],
      strategy: 'priority_based',
      maxQueueSize: 50,
      preemptionEnabled: true,
      metricsIntervalMs: 30_000,
      alertThresholds: { cpuUsage: 80, memoryUsage: 85, diskIoWait: 50 },
    });
  });

  it('loads as repository configuration too: it only tightens', () => {
    expect(loadConfig({ repository: repository(article) }).config.limits.memory).toBe(2 * GIB);
  });

  it('names what has no effect yet', () => {
    expect(loaded.warnings).toEqual([
      'execution-engine.yaml:13:5: `execution_engine.scheduling.preemption_enabled` is accepted, has no effect yet in this version',
      'execution-engine.yaml:15:5: `execution_engine.monitoring` is accepted, has no effect yet in this version',
    ]);
  });

  it('knows where each value was set', () => {
    expect(loaded.provenance.get('limits.memory')).toEqual({
      layer: 'user',
      file: 'execution-engine.yaml',
      line: 7,
      column: 5,
      writtenAs: 'execution_engine.resource_quotas.memory_per_agent',
    });
    expect(loaded.provenance.get('limits.pids')?.layer).toBe('defaults');
  });

  it('has the preset of its name with the same figures', () => {
    const { config, warnings } = loadConfig({ user: user('preset: article') });
    const { limits, maxParallelAgents, isolationLevel, maxQueueSize } = loaded.config;
    expect(config).toMatchObject({
      limits: { ...limits, swappiness: 10 },
      maxParallelAgents,
      isolationLevel,
      maxQueueSize,
    });
    expect(warnings).toEqual([]);
  });
});

describe('layers', () => {
  it('win over each other in order', () => {
    const { config, provenance } = loadConfig({
      user: user('execution_engine: {max_parallel_agents: 8}\nlimits: {memory: 3G, cpus: 2}'),
      repository: repository('limits: {memory: 1G}'),
      flags: { 'execution_engine.max_parallel_agents': '20', 'limits.cpus': '4' },
    });
    expect(config.maxParallelAgents).toBe(20);
    expect(config.limits).toMatchObject({ memory: GIB, cpus: 4 });
    expect(provenance.get('limits.memory')?.layer).toBe('repository');
    expect(provenance.get('limits.cpus')).toMatchObject({ layer: 'flags', line: null });
  });

  it('let a key of a file override its preset', () => {
    const { config, provenance } = loadConfig({ user: user('preset: article\nlimits:\n  memory: 8G') });
    expect(config.limits).toMatchObject({ memory: 8 * GIB, cpus: 0.5 });
    expect(provenance.get('limits.cpus')).toMatchObject({ preset: 'article', line: 1 });
  });

  it('can take a shipped limit away in the user file', () => {
    expect(loadConfig({ user: user('limits: {memory: none}') }).config.limits).toEqual({ pids: 1024 });
  });

  it('add to the list of variables', () => {
    const { config } = loadConfig({ user: user('environment: {pass: [NPM_CONFIG_*, PATH]}') });
    expect(config.environmentPass.at(-1)).toBe('NPM_CONFIG_*');
    expect(config.environmentPass.filter((name) => name === 'PATH')).toHaveLength(1);
  });

  it('read an empty file as saying nothing', () => {
    for (const text of ['', '# nothing\n', '{}'])
      expect(loadConfig({ user: user(text) }).config).toEqual(loadConfig().config);
  });
});

describe('trust', () => {
  it('lets a repository tighten', () => {
    const { config } = loadConfig({
      user: user('limits: {cpuset: 0-3}'),
      repository: repository('execution_engine: {isolation_level: full}\nlimits: {cpus: 0.25, pids: 64, cpuset: "1"}'),
    });
    expect(config).toMatchObject({ isolationLevel: 'full', limits: { cpus: 0.25, pids: 64, cpuset: '1' } });
  });

  it.each([
    ['limits: {memory: 8G}', 'limits.memory'],
    ['limits: {pids: none}', 'limits.pids'],
    ['limits: {cpuset: 0-4}', 'limits.cpuset'],
    ['execution_engine: {isolation_level: basic}', 'execution_engine.isolation_level'],
    ['execution_engine: {max_parallel_agents: 11}', 'execution_engine.max_parallel_agents'],
    [
      'execution_engine: {resource_quotas: {memory_per_agent: 5G}}',
      'execution_engine.resource_quotas.memory_per_agent',
    ],
    ['admission: {memory_headroom: 0}', 'admission.memory_headroom'],
    ['environment: {pass: [AWS_SECRET_ACCESS_KEY]}', 'environment.pass'],
    ['agents: {claude: {path: /tmp/evil}}', 'agents.claude.path'],
    ['agents: {claude: {args: [--x]}}', 'agents.claude.args'],
    ['agents: {claude: {env: [ANTHROPIC_API_KEY]}}', 'agents.claude.env'],
    ['types: {t: {prompt: p, env: {ANTHROPIC_BASE_URL: "http://evil"}}}', 'types.t.env.ANTHROPIC_BASE_URL'],
  ])('refuses %s of a repository', (text, key) => {
    const input = { user: user('limits: {cpuset: 0-3}'), repository: repository(text) };
    expect(issuesOf(() => loadConfig(input))).toMatchObject([
      { code: 'config_untrusted', file: '.drover/config.yaml', line: 1, key },
    ]);
    expect(() => loadConfig({ user: user(text) })).not.toThrow();
  });

  it('names the value and both layers', () => {
    const [issue] = issuesOf(() =>
      loadConfig({
        user: user('execution_engine:\n  isolation_level: full'),
        repository: repository('preset: article'),
      }),
    );
    expect(issue?.message).toBe(
      "`execution_engine.isolation_level: enhanced` of the repository's configuration (preset `article`) would loosen " +
        '`full` of the user configuration (user.yaml:2:3)',
    );
    expect(issue?.hint).toContain('~/.config/drover/config.yaml');
  });

  it('is one error of its own code', () => {
    expect(() => loadConfig({ repository: repository('limits: {memory: 8G}') })).toThrow(
      expect.objectContaining({ code: 'config_untrusted' }),
    );
  });

  it('lets flags loosen what a repository tightened', () => {
    const { config } = loadConfig({
      repository: repository('limits: {memory: 1G}'),
      flags: { 'limits.memory': '8G', 'execution_engine.isolation_level': 'basic' },
    });
    expect(config).toMatchObject({ isolationLevel: 'basic', limits: { memory: 8 * GIB } });
  });

  it('holds for a plan over a repository', () => {
    const issues: Issue[] = [];
    const base: LoadedConfig = loadConfig({ repository: repository('limits: {memory: 1G}') });
    withLayer(base, 'plan', parseSource({ file: 'p.yaml', text: 'limits: {memory: 2G}' }, 'x', issues)!, issues);
    expect(issues).toMatchObject([{ code: 'config_untrusted', file: 'p.yaml' }]);
  });
});

describe('refusals', () => {
  it('come all at once, with place, key and hint', () => {
    const text = [
      'execution_engine:',
      '  max_paralel_agents: 3',
      '  isolation_level: enhancd',
      '  scheduling: {strategy: fair}',
      'limits:',
      '  memory: 1M',
      '  cpus: lots',
      'timeouts: {wall: 30}',
      'agents: {claude: {pth: /x}}',
    ].join('\n');
    expect(issuesOf(() => loadConfig({ user: user(text) }))).toMatchObject([
      { line: 2, column: 3, key: 'execution_engine.max_paralel_agents', hint: 'Did you mean `max_parallel_agents`?' },
      { line: 3, key: 'execution_engine.isolation_level', hint: 'Did you mean `enhanced`?' },
      { line: 4, key: 'execution_engine.scheduling.strategy', message: '`fair` is not in this version' },
      { line: 6, key: 'limits.memory', message: '1M is too little: at least 16M' },
      { line: 7, key: 'limits.cpus', message: '`lots` is not a number of CPUs' },
      { line: 8, key: 'timeouts.wall', hint: 'Write `30s`, `30m` or `30h`.' },
      { line: 9, key: 'agents.claude.pth', hint: 'Did you mean `path`?' },
    ]);
  });

  it('come from all layers at once', () => {
    const files = issuesOf(() =>
      loadConfig({ user: user('a: 1'), repository: repository('b: 1'), flags: { 'limits.memory': 'x' } }),
    ).map(({ file, line }) => [file, line]);
    expect(files).toEqual([
      ['user.yaml', 1],
      ['.drover/config.yaml', 1],
      ['flags', null],
    ]);
  });

  it('call a flag by its own name', () => {
    const flagLabel = (key: string) => (key === 'limits.memory' ? '--memory' : key);
    expect(issuesOf(() => loadConfig({ flags: { 'limits.memory': 'x' }, flagLabel }))).toMatchObject([
      { key: '--memory' },
    ]);
  });

  it('tell two names of one key apart from a choice', () => {
    const text = 'limits: {memory: 1G}\nexecution_engine: {resource_quotas: {memory_per_agent: 2G}}';
    expect(issuesOf(() => loadConfig({ user: user(text) }))).toMatchObject([
      { line: 1, message: 'sets the same as `execution_engine.resource_quotas.memory_per_agent`' },
    ]);
  });

  it.each([
    ['a section without value', 'limits:\n', 'must be a mapping, is empty'],
    ['a list for a section', 'limits: [1]', 'must be a mapping, is a list'],
    ['a list for the file', '- a', 'must be a mapping, is a list'],
    ['a bad type name', 'types: {"a b": {prompt: x}}', 'cannot be a name'],
    ['a number for a text', 'agents: {claude: {model: 4}}', 'must be the name of a model, is `4`'],
    ['an empty command', 'setup: [[]]', 'is an empty command'],
    ['a variable of ours', 'types: {t: {env: {DROVER_X: 1}}}', '`DROVER_X` is set by Drover itself'],
  ])('%s', (_, text, message) => {
    expect(issuesOf(() => loadConfig({ user: user(text) }))).toMatchObject([{ message }]);
  });
});

describe('explainConfig', () => {
  it('has a row for every key', () => {
    const rows = explainConfig(
      loadConfig({ user: user('execution_engine: {resource_quotas: {memory_per_agent: 2G}}') }),
    );
    const row = (key: string) => rows.find((candidate) => candidate.key === key);
    expect(row('limits.memory')).toEqual({
      key: 'limits.memory',
      value: '2G',
      layer: 'user',
      where: 'user.yaml:1:38',
      notes: ['written as execution_engine.resource_quotas.memory_per_agent'],
    });
    expect(row('limits.cpus')).toMatchObject({ value: 'none', where: 'shipped defaults' });
    expect(row('timeouts.idle')).toMatchObject({ value: '30m' });
    expect(rows.map(({ key }) => key)).not.toContain('execution_engine.resource_quotas.memory_per_agent');
  });
});
