import { DROVER_VERSION } from '@drover/core/client';
import { McpServer } from '@modelcontextprotocol/server';
import type { Engine } from './define-tool.ts';
import { INSTRUCTIONS } from './instructions.ts';
import { TOOLS } from './tools/index.ts';

/** An MCP server over the engine's API. One for each connection; it keeps no state of its own. */
export function createServer(engine: Engine): McpServer {
  const info = { name: 'drover', title: 'Drover', version: DROVER_VERSION };
  const server = new McpServer(info, { instructions: INSTRUCTIONS });
  for (const register of TOOLS) register(server, engine);
  return server;
}
