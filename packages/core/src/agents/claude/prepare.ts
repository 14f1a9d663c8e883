import { randomUUID } from 'node:crypto';
import { DroverError } from '../../shared/errors.ts';
import { agentEnvironment, hasMounts } from '../environment.ts';
import { prepareHome } from '../home.ts';
import { toolchainView } from '../toolchain.ts';
import type { Detection, Launch, PrepareContext } from '../types.ts';
import { findLogin, linkAccount, publishAccount } from './credentials.ts';
import { detectClaude, unsupportedProvider } from './detect.ts';
import { argumentsFor, KEPT_VARIABLES, SET_VARIABLES } from './manifest.ts';
import { carrySession, seedPrivateHome } from './private-home.ts';
import { userFiles } from './user-files.ts';

/** Fills the private home and says how to start one headless turn. */
export async function prepareClaude(context: PrepareContext): Promise<Launch> {
  const prompt = context.task.prompt;
  if (!prompt?.trim()) {
    throw new DroverError('agent_input', `Task ${context.task.id} has no prompt.`, 'Give it `prompt: ...`.');
  }
  const found = await requireInstalled(context);
  await prepareHome(context.homeDir, context.userHome);
  await seedPrivateHome(context, userFiles(context.env, context.userHome));
  const accountMounts = await logIn(context);
  const tools = await toolchainView(context.env, context.userHome, found.path);
  const mounted = hasMounts(context);
  const resume = await carrySession(context);
  const session = { id: resume ? context.resume!.session : randomUUID(), resume };
  return {
    argv: [found.path, ...argumentsFor(context, session)],
    env: { ...(mounted ? {} : tools.env), ...agentEnvironment(context, KEPT_VARIABLES), ...SET_VARIABLES },
    stdin: prompt,
    tty: false,
    stderr: 'split',
    mounts: mounted ? [...tools.mounts, ...accountMounts] : [],
    version: found.version,
  };
}

async function requireInstalled(context: PrepareContext): Promise<Detection> {
  const found = await detectClaude(context.env, context.userHome);
  if (!found) {
    throw new DroverError(
      'agent_missing',
      'Claude Code is not installed: no `claude` on PATH or under the home.',
      'Install it: `npm install -g @anthropic-ai/claude-code`.',
    );
  }
  const provider = unsupportedProvider(context.env);
  if (!provider) return found;
  throw new DroverError(
    'agent_unsupported',
    `The environment chooses ${provider}, whose credentials no sandbox is given in this version.`,
    'Use an account, ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN.',
  );
}

async function logIn(context: PrepareContext) {
  const login = await findLogin(context.env, context.userHome);
  if (login.kind === 'none') {
    throw new DroverError(
      'agent_auth',
      `Claude Code is not logged in. ${login.detail}`,
      'Run `claude` once and log in.',
    );
  }
  if (login.kind !== 'account') return [];
  const problem = await publishAccount(context);
  if (problem) throw new DroverError('agent_auth', problem, 'Run `claude` once and log in.');
  return linkAccount(context);
}
