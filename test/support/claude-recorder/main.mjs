#!/usr/bin/env node
// Records the fixtures of the claude adapter from the real Claude Code, which talks to a scripted endpoint only:
//   node test/support/claude-recorder/main.mjs [scenario...]
// Best in a network namespace with nothing but a loopback:  unshare -n sh -c 'ip link set lo up; exec node ...'
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const file = fileURLToPath(new URL('./record.ts', import.meta.url));
const { module } = await runnerImport(file, { logLevel: 'error', resolve: { conditions: ['source'] } });
await module.recordAll(process.argv.slice(2));
