import { missing, ok, warn } from './finding.ts';
import type { AgentFacts, Finding, Readers } from './types.ts';

/** One finding for each agent CLI, and one more when there is none. */
export async function agentFindings(readers: Readers): Promise<Finding[]> {
  const agents = await readers.agents();
  const findings = agents.map(findingOf);
  if (agents.some((agent) => agent.detection)) return findings;
  const cost = 'Only tasks with a command can be run.';
  return [
    ...findings,
    missing('agents', 'none installed', cost, 'Install an agent CLI, such as Claude Code, and log in.'),
  ];
}

function findingOf({ name, title, detection }: AgentFacts): Finding {
  if (!detection) return warn(name, 'not installed', `No tasks for ${title}.`, `Install ${title}, if you want it.`);
  const found = `${detection.version}, ${detection.path}`;
  if (detection.loggedIn) return ok(name, found);
  return warn(
    name,
    `${found}: ${detection.detail}`,
    `Tasks for ${title} end as auth_failed.`,
    `Log in with ${title} itself.`,
  );
}
