export type CheckStatus = 'ok' | 'warn' | 'missing';

/** What one check found. */
export interface Finding {
  name: string;
  status: CheckStatus;
  /** What is there. */
  found: string;
  /** What it costs when it is not as it should be; empty when it is. */
  cost: string;
  /** How to get it; empty when there is nothing to get. */
  fix: string;
}

/** One line of the table of checks. Never throws: what cannot be read is not there. */
export interface Check {
  name: string;
  run(facts: Readers): Finding | Promise<Finding>;
}

export interface HelperFacts {
  server: string;
  mode: string;
  capabilities: string[];
  missing: Array<{ capability: string; reason: string }>;
}

export interface AgentFacts {
  name: string;
  title: string;
  /** Null: not installed. */
  detection: { path: string; version: string; loggedIn: boolean; detail: string } | null;
}

export interface FileSystemFacts {
  freeBytes: number;
  freeInodes: number;
  totalInodes: number;
}

/** All that the checks look at. The real ones are in readers.ts; tests give their own. */
export interface Readers {
  platform: string;
  kernelRelease: string;
  nodeVersion: string;
  uid: number;
  stateDir: string;
  /** Text of a file, or null. */
  readFile(path: string): string | null;
  exists(path: string): boolean;
  /** Standard output of a program that ended with 0, or null. */
  run(program: string, args: string[]): Promise<string | null>;
  /** The file system that holds a path (or the nearest directory above it that exists). */
  fileSystem(path: string): FileSystemFacts | null;
  /** What the helper says of itself; why not, in words, when it cannot be asked. */
  helper(): Promise<HelperFacts | { unreachable: string }>;
  /** Path of the compiled keeper, or null. */
  keeper(): Promise<string | null>;
  agents(): Promise<AgentFacts[]>;
}
