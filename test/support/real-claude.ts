import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The version that fixtures were recorded with. */
export const CLAUDE_VERSION = '2.1.332';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const CACHE = join(ROOT, '.cache/claude', CLAUDE_VERSION);
const BINARY = `node_modules/@anthropic-ai/claude-code-linux-${process.arch}/claude`;

/**
 * The real Claude Code, if it is here: what DROVER_CLAUDE names, else what {@link installRealClaude} has put into `.cache/`.
 * Null otherwise. Tests that need it are skipped then, with a line that says so.
 */
export function findRealClaude(): string | null {
  const named = process.env.DROVER_CLAUDE;
  if (named) {
    if (!existsSync(named)) throw new Error(`DROVER_CLAUDE names ${named}, which is not there.`);
    return named;
  }
  const cached = join(CACHE, BINARY);
  return existsSync(cached) ? cached : null;
}

/** As {@link findRealClaude}, and installs the pinned version from the npm registry where it is missing (about 400 MB). */
export async function installRealClaude(): Promise<string> {
  const found = findRealClaude();
  if (found) return found;
  await mkdir(CACHE, { recursive: true });
  const what = `@anthropic-ai/claude-code@${CLAUDE_VERSION}`;
  // Forced: the package asks for a newer Node, its program is native and needs none.
  const args = ['install', '--prefix', CACHE, '--force', '--no-audit', '--no-fund', '--ignore-scripts', what];
  await run('npm', args, { timeout: 10 * 60_000 });
  return join(CACHE, BINARY);
}

/** Environment in which Claude Code talks to a scripted endpoint and to nothing else. */
export function scriptedClaudeEnv(url: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-ant-api03-scripted-endpoint-needs-no-real-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  };
}
