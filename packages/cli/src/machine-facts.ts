import { answers, helperSocket } from '@drover/core/client';
import type { Injected } from '@drover/core/doctor';

type Env = Readonly<Record<string, string | undefined>>;

/** What the helper and the agents' adapters say of this machine. */
export function machineFacts(env: Env): Injected {
  return { helper: () => helperFacts(env), agents: async () => [] };
}

async function helperFacts(env: Env): ReturnType<Injected['helper']> {
  const path = helperSocket(env);
  if (!(await answers(path))) return { unreachable: `nothing answers at ${path}` };
  return { server: 'drover-helper', mode: 'not asked', capabilities: [], missing: [] };
}
