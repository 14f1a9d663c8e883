export { createServer } from './create-server.ts';
export type { Engine } from './define-tool.ts';
export { serveMcp } from './serve-mcp.ts';
