import type { Mount } from '../sandbox/types.ts';
import type { TaskDefinition } from '../tasks/definition.ts';
import type { Outcome } from '../tasks/outcomes.ts';

/** Tokens and money, as the agent reports them. Absent: not reported. */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  costUsd?: number;
  turns?: number;
}

/** Where this agent's program is on this machine. */
export interface Detection {
  /** Absolute path of the executable. */
  path: string;
  version: string;
  /** False when no credentials were found. */
  loggedIn: boolean;
  /** Why, in words, when not. */
  detail: string;
}

export interface PrepareContext {
  task: TaskDefinition;
  plan: string;
  attemptId: string;
  /** The private home on the host: what the adapter writes here the agent finds in its own home. */
  homeDir: string;
  /** The path of home inside the sandbox (the user's own home path). */
  homePath: string;
  worktree: string;
  /** The user's allow-listed environment of this submission. */
  env: Readonly<Record<string, string>>;
  /** The user's real home, for reading what the agent needs. */
  userHome: string;
  /** Session of an earlier attempt to continue, where the outcome says so. */
  resumeSession?: string;
}

/** What to run, and what the agent must find inside. */
export interface Launch {
  argv: string[];
  env: Record<string, string>;
  /** Bytes for stdin; absent: nothing. */
  stdin?: string;
  tty: boolean;
  stderr: 'split' | 'merge';
  /** Read-only toolchain paths, credential files and the like. */
  mounts: Mount[];
  /** Version string to be recorded with the attempt. */
  version?: string;
}

/** What the adapter understood so far of the agent's output. */
export interface AgentReport {
  /** The agent said that it has finished, and how. Absent: no terminal event yet. */
  terminal?: { ok: boolean; outcome?: Outcome; detail: string };
  sessionId?: string;
  model?: string;
  /** The agent's own closing words. */
  summary?: string;
  usage: Usage;
  /** Milliseconds since the epoch, when a rate limit names one. */
  rateLimitResetMs?: number;
  /** One line: what it does at the moment. */
  activity?: string;
  /** How many denials, retries and unparsable lines were seen: for the log, never a verdict by themselves. */
  notes: string[];
}

/** Reads an agent's output as it comes. Bounded memory: a line over the cap is cut and noted. */
export interface OutputParser {
  /** Feeds raw bytes of stdout. */
  push(bytes: Uint8Array): void;
  /** No more output. */
  end(): void;
  report(): AgentReport;
}

/** How an agent ended, before git and verify are looked at. */
export interface AgentVerdict {
  /** `ok`, `ok_lingered` or what went wrong. */
  outcome: Outcome;
  detail: string;
}

export interface ExitFacts {
  code: number | null;
  signal: number | null;
  cause: 'exit' | 'stop' | 'timeout_wall' | 'timeout_idle' | 'lingered' | 'init_lost';
}

/** Knows one agent CLI. Pure but for {@link detect} and {@link prepare}. */
export interface AgentAdapter {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly title: string;
  /** What tasks give it. */
  readonly takes: 'prompt' | 'command';
  /** True when the end of the work is told by an event of its own (so that a lingering process can be ended). */
  readonly hasTerminalEvent: boolean;
  /** Looks on PATH of `env`; null when it is not installed. */
  detect(env: Readonly<Record<string, string>>, userHome: string): Promise<Detection | null>;
  /** Writes what is needed into the private home and says what to run. Throws DroverError `agent_missing` and the like. */
  prepare(context: PrepareContext): Promise<Launch>;
  parser(): OutputParser;
  /** The agent's own part of the verdict: terminal event and exit status. */
  judge(report: AgentReport, exit: ExitFacts): AgentVerdict;
}
