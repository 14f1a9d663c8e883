import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type FakeLlm, type Script, startFakeLlm } from './index.ts';

const TOOLS = [{ name: 'Bash' }, { name: 'Write' }];
let llm: FakeLlm | undefined;

afterEach(async () => {
  await llm?.stop();
  llm = undefined;
});

async function start(script: Script, logFile?: string): Promise<FakeLlm> {
  llm = await startFakeLlm({ script, ...(logFile ? { logFile } : {}) });
  return llm;
}

async function ask(body: Record<string, unknown>, path = '/v1/messages'): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'x-api-key': 'secret' };
  return fetch(`${llm!.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

interface Answer {
  content: { type: string; text?: string; input?: unknown }[];
  stop_reason: string;
  input_tokens: number;
  error: { type: string };
}

async function answer(body: Record<string, unknown>, path?: string): Promise<Answer> {
  return (await ask(body, path)).json() as Promise<Answer>;
}

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const request = (...messages: unknown[]) => ({ model: 'm-1', tools: TOOLS, messages });

describe('turns', () => {
  it('are chosen by the newest prompt and the turns since', async () => {
    await start({
      scenarios: [{ match: '^fix', turns: [{ shell: 'echo hi' }, { text: 'fixed' }] }],
      turns: [{ text: 'other' }],
    });
    const first = await answer(request(user('Fix it')));
    expect(first.content[0]).toMatchObject({ type: 'tool_use', name: 'Bash', input: { command: 'echo hi' } });
    expect(first.stop_reason).toBe('tool_use');

    const result = user([{ type: 'tool_result', tool_use_id: 'x', content: 'hi' }]);
    const second = await answer(request(user('Fix it'), assistant(first.content), result));
    expect(second.content).toEqual([{ type: 'text', text: 'fixed' }]);

    const third = await answer(request(user('Fix it'), assistant('fixed'), user('and now?')));
    expect(third.content[0]!.text).toBe('other');
  });

  it('repeat the last words when the script is over', async () => {
    await start({ turns: [{ text: 'bye' }] });
    const said = await answer(request(user('a'), assistant('bye'), assistant('more')));
    expect(said.content[0]!.text).toBe('bye');
  });

  it('answer requests without tools aside', async () => {
    await start({ turns: [{ shell: 'x' }], aux: { text: 'a title' } });
    const said = await answer({ model: 'm-1', messages: [user('name this')] });
    expect(said.content[0]!.text).toBe('a title');
  });

  it('take what the client puts in for no prompt', async () => {
    await start({ scenarios: [{ match: '^real$', turns: [{ text: 'yes' }] }], turns: [{ text: 'no' }] });
    const content = [
      { type: 'text', text: '<system-reminder>be good</system-reminder>' },
      { type: 'text', text: 'real' },
    ];
    expect((await answer(request(user(content)))).content[0]!.text).toBe('yes');
  });

  it('fill templates from the conversation', async () => {
    await start({
      turns: [
        { text: '' },
        { text: 'got {{re:id=(\\w+)}}', tools: [{ tool: 'Write', input: { n: '{{num:count (\\d+)}}' } }] },
      ],
    });
    const result = user([{ type: 'tool_result', content: [{ type: 'text', text: 'id=abc count 42' }] }]);
    const said = await answer(request(user('go'), assistant('..'), result));
    expect(said.content[0]!.text).toBe('got abc');
    expect(said.content[1]!.input).toEqual({ n: 42 });
  });
});

describe('streams', () => {
  it('bring text, tool input and usage in pieces', async () => {
    await start({ turns: [{ text: 'x'.repeat(60), shell: 'ls', usage: { input: 7, output: 9, cacheRead: 3 } }] });
    const text = await (await ask({ ...request(user('go')), stream: true })).text();
    const events = [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!));
    const deltas = events.filter((event) => event.type === 'content_block_delta').map((event) => event.delta);
    expect(deltas.map((delta) => delta.text ?? '').join('')).toBe('x'.repeat(60));
    expect(JSON.parse(deltas.map((delta) => delta.partial_json ?? '').join(''))).toMatchObject({ command: 'ls' });
    expect(events.at(-2).usage).toMatchObject({ input_tokens: 7, output_tokens: 9, cache_read_input_tokens: 3 });
    expect(events.at(-1).type).toBe('message_stop');
  });

  it('can be dropped in the middle', async () => {
    await start({ turns: [{ text: 'x'.repeat(200), drop: true }] });
    const response = await ask({ ...request(user('go')), stream: true });
    await expect(response.text()).rejects.toThrow();
  });

  it('can hang for ever', async () => {
    await start({ turns: [{ text: 'x'.repeat(200), hang: true }] });
    const response = await ask({ ...request(user('go')), stream: true });
    const outcome = await Promise.race([
      response.text().then(
        () => 'ended',
        () => 'cut',
      ),
      new Promise((resolve) => setTimeout(() => resolve('open'), 300)),
    ]);
    expect(outcome).toBe('open');
  });
});

describe('errors', () => {
  it('are given as often as asked, with their headers', async () => {
    await start({
      turns: [
        { text: 'ok', error: { status: 429, type: 'rate_limit_error', times: 2, headers: { 'retry-after': '1' } } },
      ],
    });
    const first = await ask(request(user('go')));
    expect(first.status).toBe(429);
    expect(first.headers.get('retry-after')).toBe('1');
    expect(((await first.json()) as Answer).error.type).toBe('rate_limit_error');
    expect((await ask(request(user('go')))).status).toBe(429);
    expect((await ask(request(user('go')))).status).toBe(200);
  });

  it('answer an unknown path with 404', async () => {
    await start({});
    expect((await ask({}, '/nowhere')).status).toBe(404);
  });
});

it('counts tokens without a turn', async () => {
  await start({});
  expect((await answer({ messages: [] }, '/v1/messages/count_tokens')).input_tokens).toBeGreaterThan(0);
});

it('logs requests without their keys, in memory and to a file', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fake-llm-'));
  try {
    const file = join(directory, 'requests.jsonl');
    await start({ turns: [{ text: 'hello' }] }, file);
    await ask(request(user('hi')));
    expect(llm!.requests[0]).toMatchObject({ prompt: 'hi', turn: 0, reply: { text: 'hello', tools: [] } });
    expect(llm!.requests[0]!.headers['x-api-key']).toBe('set');
    expect(JSON.parse(readFileSync(file, 'utf8')).body.messages).toHaveLength(1);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
