import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type EngineServer, serveEngine } from '../../core/src/api/server.ts';
import { FakeEngine } from '../../core/src/api/testing/index.ts';

const MAIN = fileURLToPath(new URL('../../cli/dist/main.js', import.meta.url));

let dir: string;
let engine: FakeEngine;
let server: EngineServer;
const env = () => ({ DROVER_STATE_DIR: dir, PATH: process.env.PATH ?? '', HOME: dir });

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'drover-mcp-'));
  engine = new FakeEngine();
  server = await serveEngine({ socketPath: join(dir, 'engine.sock'), service: engine });
});
afterEach(async () => {
  await server.close();
  rmSync(dir, { recursive: true });
});

interface Called {
  isError?: boolean;
  content: Array<{ type: string; text?: string }>;
  structuredContent?: Record<string, unknown>;
}
interface Connected {
  instructions: string | undefined;
  tools: Array<{ name: string; outputSchema?: unknown; annotations?: object; _meta?: object }>;
  call(args?: object): Promise<Called>;
  close(): Promise<void>;
}

const command = () => ({ command: process.execPath, args: [MAIN, 'mcp'], env: env(), stderr: 'pipe' as const });
const info = { name: 'test', version: '1' };
const tool = (args: object) => ({ name: 'fleet_status', arguments: args as Record<string, unknown> });

async function modern(): Promise<Connected> {
  const client = new Client(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new StdioClientTransport(command()));
  return {
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools,
    call: async (args = {}) => (await client.callTool(tool(args))) as Called,
    close: () => client.close(),
  };
}

async function legacy(): Promise<Connected> {
  const client = new OldClient(info);
  await client.connect(new OldStdio(command()));
  return {
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools,
    call: async (args = {}) => (await client.callTool(tool(args))) as Called,
    close: () => client.close(),
  };
}

describe.each([
  ['the 2026 protocol', modern],
  ['the v1 SDK', legacy],
])('%s', (_name, connect) => {
  test('the tool, its schema, and what a model reads first', async () => {
    const client = await connect();
    expect(client.tools).toMatchObject([
      {
        name: 'fleet_status',
        annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
        _meta: { 'anthropic/alwaysLoad': true },
      },
    ]);
    expect(client.tools[0]?.outputSchema).toBeTruthy();
    expect(client.instructions).toContain('fleet_status');
    expect(client.instructions?.length).toBeLessThan(3000);
    await client.close();
  });

  test('text and structure say the same', async () => {
    engine.put('demo/a', { state: 'active', attemptState: 'running', activity: 'reads\u001b[31m files\nnow' });
    engine.put('demo/b', { state: 'ended', outcome: 'verify_failed', reason: 'npm test failed' });
    const client = await connect();
    const { content, structuredContent } = await client.call();
    expect(structuredContent).toMatchObject({
      active: 1,
      not_ok: 1,
      slots_used: 1,
      tasks: [
        { ref: 'demo/b', state: 'verify_failed', reason: 'npm test failed' },
        { ref: 'demo/a', state: 'running', reason: 'reads [31m files now' },
      ],
      tasks_not_shown: 0,
    });
    const text = content[0]?.text ?? '';
    for (const said of [
      '1 active',
      '1 not ok',
      'slots 1/4',
      'demo/b verify_failed',
      'npm test failed',
      'demo/a running',
    ]) {
      expect(text).toContain(said);
    }
    await client.close();
  });

  test('a large fleet stays under 2 kB, failures first; detailed gives more', async () => {
    for (let n = 0; n < 300; n++) engine.put(`demo/task-${n}`, { reason: 'It waits for a free slot. '.repeat(10) });
    engine.put('demo/bad', { state: 'ended', outcome: 'agent_error', reason: 'exit code 4' });
    const client = await connect();
    const brief = await client.call();
    expect(JSON.stringify(brief.structuredContent).length).toBeLessThan(2000);
    expect(brief.content[0]?.text?.length).toBeLessThan(2000);
    const tasks = brief.structuredContent?.tasks as Array<{ ref: string }>;
    expect(tasks[0]?.ref).toBe('demo/bad');
    expect(brief.structuredContent?.tasks_not_shown).toBe(301 - tasks.length);
    const detailed = await client.call({ detailed: true });
    expect(detailed.structuredContent?.tasks_not_shown).toBeLessThan(301 - tasks.length);
    await client.close();
  });

  test('an error is a result that says its code', async () => {
    engine.status = async () => {
      throw new Error('database is locked');
    };
    const client = await connect();
    const result = await client.call();
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^INTERNAL: .*locked/) }] });
    await client.close();
  });

  test('arguments that are none are refused', async () => {
    const client = await connect();
    expect((await client.call({ plna: 'x' })).isError).toBe(true);
    await client.close();
  });
});

test.each(['end of input', 'SIGINT', 'SIGTERM'])(
  'it ends by %s, with nothing but protocol on standard output',
  async (how) => {
    const child = spawn(process.execPath, [MAIN, 'mcp'], { env: env(), stdio: 'pipe' });
    let stdout = '';
    child.stdout.on('data', (bytes) => {
      stdout += bytes;
      if (how === 'end of input') child.stdin.end();
      else child.kill(how as NodeJS.Signals);
    });
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: info };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello })}\n`);
    await new Promise((resolve) => child.on('close', resolve));
    expect(JSON.parse(stdout).result.serverInfo.name).toBe('drover');
  },
);
