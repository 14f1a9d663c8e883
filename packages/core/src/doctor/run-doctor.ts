import { agentFindings } from './agents.ts';
import { CGROUP_CHECKS } from './cgroups.ts';
import { KERNEL_CHECKS } from './kernel.ts';
import { PROGRAM_CHECKS } from './programs.ts';
import { RESOURCE_CHECKS } from './resources.ts';
import type { Check, Finding, Readers } from './types.ts';

/** The table of checks, in the order in which they are shown. Agents come last. */
export const CHECKS: readonly Check[] = [...KERNEL_CHECKS, ...CGROUP_CHECKS, ...PROGRAM_CHECKS, ...RESOURCE_CHECKS];

/** Runs every check. */
export async function runDoctor(readers: Readers): Promise<Finding[]> {
  const findings = await Promise.all(CHECKS.map((check) => check.run(readers)));
  return [...findings, ...(await agentFindings(readers))];
}
