import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createServer } from './create-server.ts';
import type { Engine } from './define-tool.ts';

/** Serves MCP on standard input and output until the client closes it or `signal` aborts (clients end it by EOF, SIGINT or SIGTERM). */
export async function serveMcp(engine: Engine, signal: AbortSignal): Promise<void> {
  const handle = serveStdio(() => createServer(engine), {
    onerror: (error) => process.stderr.write(`drover mcp: ${error.message}\n`),
  });
  await new Promise<void>((resolve) => {
    process.stdin.once('end', resolve);
    process.stdin.once('close', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await handle.close();
}
