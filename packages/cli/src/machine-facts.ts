import { homedir } from 'node:os';
import { AGENTS } from '@drover/core/agents';
import { helperSocket } from '@drover/core/client';
import type { AgentFacts, HelperFacts, Injected } from '@drover/core/doctor';
import { HelperClient } from '@drover/helper';

type Env = Readonly<Record<string, string | undefined>>;

/** What the helper and the agents' adapters say of this machine. */
export function machineFacts(env: Env): Injected {
  return { helper: () => helperFacts(helperSocket(env)), agents: () => agentFacts(env) };
}

async function helperFacts(path: string): Promise<HelperFacts | { unreachable: string }> {
  try {
    const client = await HelperClient.connect(path);
    const { server, mode, caps, missing } = client.hello;
    client.close();
    return {
      server,
      mode,
      capabilities: caps,
      missing: missing.map(({ cap, reason }) => ({ capability: cap, reason })),
    };
  } catch (error) {
    return { unreachable: error instanceof Error ? error.message : String(error) };
  }
}

/** Agents that take prompts: `command` is no program to look for. */
async function agentFacts(env: Env): Promise<AgentFacts[]> {
  const known = Object.fromEntries(Object.entries(env).filter((e): e is [string, string] => e[1] !== undefined));
  const adapters = AGENTS.filter((agent) => agent.takes === 'prompt');
  return await Promise.all(
    adapters.map(async ({ name, title, detect }) => ({
      name,
      title,
      detection: await detect(known, env.HOME ?? homedir()),
    })),
  );
}
