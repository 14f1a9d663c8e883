import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type AdapterInfo, type ConfigError, type ConfigInput, type Issue, loadConfig } from '../config/index.ts';
import { type LoadPlanInput, loadPlan } from './index.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

const adapters: AdapterInfo[] = [
  { name: 'command', aliases: [], takes: 'command' },
  { name: 'claude', aliases: ['claude-code'], takes: 'prompt' },
  { name: 'codex', aliases: ['codex-cli'], takes: 'prompt' },
  { name: 'gemini', aliases: ['gemini-cli'], takes: 'prompt' },
];

const seed = (name: string) =>
  readFileSync(new URL(`../../../../test/fixtures/seeds/${name}`, import.meta.url), 'utf8');

type Extra = Partial<LoadPlanInput> & { user?: string; flags?: ConfigInput['flags'] };

function load(text: string, { user, flags, ...extra }: Extra = {}) {
  const config = loadConfig({
    user: user === undefined ? null : { file: 'user.yaml', text: user },
    ...(flags ? { flags } : {}),
    adapters,
  });
  return loadPlan({ file: 'plan.yaml', text, config, adapters, ...extra });
}

function issuesOf(text: string, extra: Extra = {}): readonly Issue[] {
  try {
    load(text, extra);
  } catch (error) {
    if (!('issues' in (error as ConfigError))) throw error;
    return (error as ConfigError).issues;
  }
  throw new Error('nothing was refused');
}

/** A plan of one task with these keys. */
const one = (keys: string) => `tasks:\n  - {id: a, ${keys}}\n`;

describe("the article's tasks", () => {
  const text = seed('tasks.yaml');
  const types =
    'types:\n  setup: {command: npm ci, expects: none}\n  test: {command: [npm, test]}\n  docs: {prompt: Write the docs}\n';

  it('load when their types are configured', () => {
    const plan = load(text, { user: types, file: 'tasks.yaml' });
    expect(plan.name).toBe('tasks');
    expect(plan.tasks).toMatchObject([
      { id: 'setup-environment', type: 'setup', priority: 75, dependsOn: [], agent: 'command', expects: 'none' },
      { id: 'run-tests', priority: 50, dependsOn: ['setup-environment'], command: ['npm', 'test'], expects: 'none' },
      { id: 'generate-docs', priority: 25, dependsOn: ['run-tests'], agent: 'claude', expects: 'changes' },
    ]);
    expect(plan.tasks[0]?.command).toEqual(['sh', '-c', 'npm ci']);
    expect(plan.tasks[2]?.prompt).toBe('Write the docs');
  });

  it('load with types of the plan, and with the engine block before them', () => {
    const plan = load(`${seed('execution-engine.yaml')}${types}${text}`);
    expect(plan).toMatchObject({ level: 'enhanced', maxParallelAgents: 10, maxQueueSize: 50, base: 'HEAD' });
    expect(plan.tasks[0]?.limits).toMatchObject({ cpus: 0.5, memory: 2 * GIB, readBps: 10 * MIB, pids: 1024 });
    expect(plan.tasks[0]?.limitsAsked).toEqual(['cpus', 'memory', 'readBps', 'writeBps']);
    expect(plan.warnings).toHaveLength(2);
  });

  it('are refused without types, each with its line', () => {
    const issues = issuesOf(text);
    expect(issues.map(({ line, key, message }) => [line, key, message])).toEqual([
      [
        3,
        'tasks[0]',
        'task `setup-environment` has neither a prompt nor a command, and there is no type `setup` that would give one',
      ],
      [
        6,
        'tasks[1]',
        'task `run-tests` has neither a prompt nor a command, and there is no type `test` that would give one',
      ],
      [
        10,
        'tasks[2]',
        'task `generate-docs` has neither a prompt nor a command, and there is no type `docs` that would give one',
      ],
    ]);
  });

  it('load from JSON', () => {
    const plan = load('{"tasks": [{"id": "a", "command": ["true"]}]}', { file: '/x/nightly run.json' });
    expect(plan.name).toBe('nightly-run');
  });
});

describe('a task', () => {
  it('is complete', () => {
    const text = one(
      'prompt: p, agent: claude-code, model: opus, class: realtime, priority: 90, verify: npm test, expects: none, ' +
        'limits: {cpus: "0.5", memory: 64M, pids: 50, cpuset: 0-1}, timeouts: {wall: 1h, idle: none, grace: 3s}, base: main, ' +
        'env: {A: 1, B: x}, oom: tolerate, retries: 2, max_turns: 5, max_budget_usd: 1.5, setup: [npm ci, [make, all]]',
    );
    expect(load(text).tasks[0]).toEqual({
      id: 'a',
      type: 'task',
      class: 'realtime',
      priority: 90,
      dependsOn: [],
      agent: 'claude',
      model: 'opus',
      prompt: 'p',
      verify: ['sh', '-c', 'npm test'],
      expects: 'none',
      limits: { cpus: 0.5, cpuset: '0-1', memory: 64 * MIB, pids: 50 },
      limitsAsked: ['cpus', 'cpuset', 'memory', 'pids'],
      oom: 'tolerate',
      timeoutWallMs: 3_600_000,
      timeoutIdleMs: null,
      timeoutSetupMs: 900_000,
      timeoutVerifyMs: 1_800_000,
      graceMs: 3000,
      base: 'main',
      env: { A: '1', B: 'x' },
      maxAttempts: 3,
      maxTurns: 5,
      maxBudgetUsd: 1.5,
      setup: [
        ['sh', '-c', 'npm ci'],
        ['make', 'all'],
      ],
    });
  });

  it('takes what it does not say from its type, then from defaults, then from configuration', () => {
    const text = [
      'defaults: {timeout: 10m, priority: low, env: {X: d, Y: d}, type: t}',
      'types: {t: {prompt: from type, priority: high, env: {X: t}}}',
      'tasks:',
      '  - {id: a}',
      '  - {id: b, timeout: none, type: other, prompt: own}',
    ].join('\n');
    const [a, b] = load(text, { user: 'retry: {max_attempts: 4}\nsetup: make' }).tasks;
    expect(a).toMatchObject({ prompt: 'from type', priority: 75, timeoutWallMs: 600_000, maxAttempts: 4 });
    expect(a?.env).toEqual({ X: 't', Y: 'd' });
    expect(a?.setup).toEqual([['sh', '-c', 'make']]);
    expect(b).toMatchObject({ type: 'other', prompt: 'own', priority: 25, timeoutWallMs: null });
  });

  it('takes one dependency or several, each once', () => {
    const text =
      'tasks:\n- {id: a, command: x}\n- {id: b, command: x, depends_on: a}\n- {id: c, command: x, depends_on: [b, a, b]}';
    expect(load(text).tasks.map(({ dependsOn }) => dependsOn)).toEqual([[], ['a'], ['b', 'a']]);
  });
});

describe('agents', () => {
  const agentOf = (text: string, extra: Extra = {}) =>
    load(text, extra).tasks.map(({ agent, model }) => [agent, model])[0];

  it.each([
    ['command: x', 'command'],
    ['prompt: x', 'claude'],
    ['prompt: x, agent: codex-cli', 'codex'],
    ['prompt: x, agent: gemini', 'gemini'],
  ])('%s is for %s', (keys, agent) => expect(agentOf(one(keys))?.[0]).toBe(agent));

  it('of defaults hold only for work they take', () => {
    expect(agentOf(`defaults: {agent: codex, model: m}\n${one('command: x')}`)).toEqual(['command', undefined]);
    expect(agentOf(`defaults: {agent: codex, model: m}\n${one('prompt: x')}`)).toEqual(['codex', 'm']);
  });

  it('keep a model to the agent it was named for', () => {
    const user = 'agents: {default: gemini, codex: {model: c}, claude-code: {model: k}}';
    expect(agentOf(one('prompt: x'), { user })).toEqual(['gemini', undefined]);
    expect(agentOf(`defaults: {agent: claude, model: opus}\n${one('prompt: x, agent: codex')}`, { user })).toEqual([
      'codex',
      'c',
    ]);
    expect(agentOf(one('prompt: x, agent: claude'), { user })).toEqual(['claude', 'k']);
    expect(agentOf(one('prompt: x, model: big'), { user })).toEqual(['gemini', 'big']);
    expect(agentOf(one('prompt: x, agent: claude, model: opus'), { user, agent: 'codex' })).toEqual(['codex', 'c']);
  });

  it('choose where a type gives both a prompt and a command', () => {
    const both = 'types: {t: {prompt: p, command: c}}\n';
    expect(load(both + one('type: t')).tasks[0]).toMatchObject({ agent: 'claude', prompt: 'p' });
    expect(load(both + one('type: t, agent: command')).tasks[0]).toMatchObject({ command: ['sh', '-c', 'c'] });
    expect(load(both + one('type: t, agent: claude'), { agent: 'command' }).tasks[0]).not.toHaveProperty('prompt');
  });

  it('take a task with both, where an agent is named', () => {
    const both = `defaults: {agent: command}\n${one('prompt: p, command: c')}`;
    expect(load(both).tasks[0]).toMatchObject({ agent: 'command', command: ['sh', '-c', 'c'] });
    expect(load(both, { agent: 'claude' }).tasks[0]).toMatchObject({ agent: 'claude', prompt: 'p' });
  });

  it.each([
    ['prompt: x, agent: command', 'agent `command` takes a command, but task `a` gives a prompt'],
    ['command: x, agent: claude', 'agent `claude` takes a prompt, but task `a` gives a command'],
    ['command: x, prompt: y', 'task `a` has both a prompt and a command'],
    ['command: x, model: y', 'task `a` is a command: it has no model'],
    ['prompt: x, agent: cloude', 'there is no agent `cloude`'],
  ])('refuse %s', (keys, message) => expect(issuesOf(one(keys))).toMatchObject([{ line: 2, message }]));

  it('refuse an override that cannot take the work', () => {
    expect(issuesOf(one('command: x'), { agent: 'claude' })).toMatchObject([
      { message: 'agent `claude` takes a prompt, but task `a` gives a command' },
    ]);
    expect(issuesOf(one('command: x'), { agent: 'clade' })).toMatchObject([
      { file: 'flags', key: 'agent', message: 'there is no agent `clade`', hint: 'Did you mean `claude`?' },
    ]);
  });
});

describe('refusals', () => {
  it.each([
    ['no tasks', 'name: x\n', { line: 1, message: 'the plan has no tasks' }],
    ['empty tasks', 'tasks: []\n', { line: 1, key: 'tasks', message: 'the plan has no tasks' }],
    ['an empty file', '', { message: 'the plan has no tasks' }],
    [
      'an unknown key of the plan',
      `tasksk: 1\n${one('command: x')}`,
      { line: 1, key: 'tasksk', hint: 'Did you mean `tasks`?' },
    ],
    [
      'an unknown key of a task',
      one('command: x, dependson: b'),
      { line: 2, key: 'tasks[0].dependson', hint: 'Did you mean `depends_on`?' },
    ],
    ['a task that is a text', 'tasks: [a]', { key: 'tasks[0]', message: 'must be a mapping, is `a`' }],
    ['no id', 'tasks: [{command: x}]', { key: 'tasks[0]', message: 'the task has no id' }],
    ['a number for an id', 'tasks: [{id: 1, command: x}]', { key: 'tasks[0].id', hint: 'Put it in quotes: "1".' }],
    ['a bad id', 'tasks: [{id: a/b, command: x}]', { key: 'tasks[0].id', message: /letters, digits/ }],
    ['an id that is no branch', 'tasks: [{id: a.lock, command: x}]', { message: /\.lock/ }],
    [
      'an id twice',
      'tasks:\n- {id: a, command: x}\n- {id: a, command: x}',
      { line: 3, message: 'there is a task `a` already in line 2' },
    ],
    [
      'a missing dependency',
      'tasks:\n- {id: build, command: x}\n- {id: b, command: x, depends_on: biuld}',
      { line: 3, key: 'tasks[1].depends_on', hint: 'Did you mean `build`?' },
    ],
    ['itself', one('command: x, depends_on: a'), { message: 'tasks depend on each other in a cycle: a -> a' }],
    [
      'too little memory',
      one('command: x, limits: {memory: 15M}'),
      { key: 'tasks[0].limits.memory', message: /at least 16M/ },
    ],
    ['a negative timeout', one('command: x, timeout: -5m'), { key: 'tasks[0].timeout' }],
    ['no time at all', one('command: x, timeout: 0'), { message: /too short/ }],
    ['a timeout twice', one('command: x, timeout: 5m, timeouts: {wall: 6m}'), { key: 'tasks[0].timeout' }],
    ['retries twice', one('command: x, retries: 1, max_attempts: 2'), { key: 'tasks[0].retries' }],
    ['an empty verify', one('command: x, verify: []'), { key: 'tasks[0].verify', message: 'is an empty command' }],
    ['an empty command', one('command: ""'), { key: 'tasks[0].command' }],
    ['an option for a base', one('command: x, base: --upload-pack=x'), { key: 'tasks[0].base' }],
    ['the plan solo', `name: solo\n${one('command: x')}`, { key: 'name' }],
    ['a priority', one('command: x, priority: hihg'), { key: 'tasks[0].priority', hint: 'Did you mean `high`?' }],
    [
      'a key in env',
      one('command: x, env: {OPENAI_API_KEY: x}'),
      { code: 'config_untrusted', key: 'tasks[0].env.OPENAI_API_KEY' },
    ],
    ['configuration twice', `types: {}\nconfig: {types: {}}\n${one('command: x')}`, { line: 2, key: 'config.types' }],
    [
      'a slip in config',
      `config: {limit: {memory: 1G}}\n${one('command: x')}`,
      { key: 'config.limit', hint: 'Did you mean `limits`?' },
    ],
  ] as [string, string, Record<string, unknown>][])('%s', (_, text, expected) => {
    const issues = issuesOf(text);
    expect(issues).toHaveLength(1);
    const { message, ...rest } = expected;
    expect(issues[0]).toMatchObject(rest);
    if (message !== undefined) expect(issues[0]?.message).toMatch(message as RegExp | string);
  });

  it('name the path of a cycle', () => {
    const text =
      'tasks:\n- {id: a, command: x, depends_on: c}\n- {id: b, command: x, depends_on: a}\n- {id: c, command: x, depends_on: b}';
    expect(issuesOf(text)).toMatchObject([
      { line: 2, message: 'tasks depend on each other in a cycle: a -> c -> b -> a' },
    ]);
  });

  it('come all at once', () => {
    const text = [
      'nmae: x',
      'execution_engine: {isolation_level: none}',
      'tasks:',
      '  - {id: a, command: x, depends_on: [z]}',
      '  - {id: a, prompt: y, agent: nobody}',
      '  - {id: b}',
      '  - {id: c, command: x, limits: {pids: many}}',
      '  - {id: d, command: x, depends_on: c}',
    ].join('\n');
    expect(issuesOf(text).map(({ line }) => line)).toEqual([1]);
    expect(issuesOf(text.replace('nmae', 'name')).map(({ line }) => line)).toEqual([2, 4, 5, 5, 6, 7]);
  });

  it('hold limits against the machine', () => {
    const machine = { cpus: 2, memoryBytes: 2 * GIB };
    expect(issuesOf(one('command: x, limits: {cpus: 4, memory: 3G}'), { machine })).toMatchObject([
      { key: 'tasks[0].limits.cpus', message: '4 CPUs are more than the 2 of this machine' },
      { key: 'tasks[0].limits.memory', message: '3G are more than the 2G of this machine' },
    ]);
    expect(() => load(one('command: x'), { machine })).not.toThrow();
  });

  it('hold the number of tasks against the queue', () => {
    const text =
      'execution_engine: {scheduling: {max_queue_size: 1}}\ntasks:\n- {id: a, command: x}\n- {id: b, command: x}';
    expect(issuesOf(text)).toMatchObject([
      { line: 2, message: 'the plan has 2 tasks; `max_queue_size` is 1 (plan.yaml:1:33)' },
    ]);
  });
});

describe('trust', () => {
  it('lets a plan and its tasks tighten', () => {
    const text = `config: {limits: {memory: 2G}}\n${one('command: x, limits: {memory: 3G}')}`;
    expect(load(text).tasks[0]?.limits.memory).toBe(3 * GIB);
  });

  it.each([
    ['a task', one('command: x, limits: {memory: 5G}'), 'tasks[0].limits.memory'],
    ['a task without limit', one('command: x, limits: {pids: none}'), 'tasks[0].limits.pids'],
    ['defaults', `defaults: {limits: {memory: 5G}}\n${one('command: x')}`, 'defaults.limits.memory'],
    [
      'a type of the plan',
      `types: {t: {command: x, limits: {memory: 5G}}}\n${one('type: t')}`,
      'types.t.limits.memory',
    ],
    ['its configuration', `config: {limits: {memory: 5G}}\n${one('command: x')}`, 'config.limits.memory'],
    [
      'its level',
      `execution_engine: {isolation_level: basic}\n${one('command: x')}`,
      'execution_engine.isolation_level',
    ],
    ['its width', `max_parallel_agents: 11\n${one('command: x')}`, 'max_parallel_agents'],
  ])('refuses %s that loosens', (_, text, key) => {
    expect(issuesOf(text)).toMatchObject([{ code: 'config_untrusted', key }]);
  });

  it('names both sides', () => {
    const [issue] = issuesOf(one('command: x, limits: {memory: 5G}'), { user: 'limits:\n  memory: 1G' });
    expect(issue?.message).toBe('task `a` would loosen `memory` from 1G (user.yaml:2:3) to 5G');
  });

  it('lets the user raise it, by file, type or flag', () => {
    const text = one('command: x, type: big, limits: {memory: 5G}');
    expect(load(text, { user: 'limits: {memory: 6G}' }).tasks[0]?.limits.memory).toBe(5 * GIB);
    expect(load(text, { flags: { 'limits.memory': '6G' } }).tasks[0]?.limits.memory).toBe(5 * GIB);
    expect(load(text, { user: 'types: {big: {limits: {memory: 6G}}}' }).tasks[0]?.limits.memory).toBe(5 * GIB);
  });

  it('tells a fault of a shared type once', () => {
    const text = 'types: {t: {command: x, limits: {memory: 5G}}}\ntasks: [{id: a, type: t}, {id: b, type: t}]';
    expect(issuesOf(text)).toHaveLength(1);
  });

  it('narrows a plan by max_parallel_agents', () => {
    expect(load(`max_parallel_agents: 3\n${one('command: x')}`).maxParallelAgents).toBe(3);
  });
});

it('reads ten thousand tasks in reasonable time', () => {
  const tasks = Array.from(
    { length: 10_000 },
    (_, i) => `- {id: t${i}, command: x${i ? `, depends_on: t${i - 1}` : ''}}`,
  );
  const started = performance.now();
  const plan = load(`tasks:\n${tasks.join('\n')}`, { user: 'execution_engine: {scheduling: {max_queue_size: 10000}}' });
  expect(plan.tasks).toHaveLength(10_000);
  expect(performance.now() - started).toBeLessThan(20_000);
});
