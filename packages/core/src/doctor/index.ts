export { type CgroupMode, cgroupMode } from './cgroups.ts';
export { type Injected, realReaders } from './readers.ts';
export { CHECKS, runDoctor } from './run-doctor.ts';
export type { AgentFacts, Check, CheckStatus, FileSystemFacts, Finding, HelperFacts, Readers } from './types.ts';
