import { defineConfig } from 'vitest/config';

export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'default'] } },
  resolve: { conditions: ['source', 'node', 'import', 'default'] },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/support/setup-global.ts'],
    setupFiles: ['test/support/setup-file.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    fileParallelism: true,
    maxWorkers: 2,
    pool: 'forks',
    // Its own exports have a condition `source` too, which is TypeScript that node cannot load from there.
    server: { deps: { inline: ['eventsource', /@modelcontextprotocol\/client/] } },
  },
});
