import type { Mount } from '../sandbox/types.ts';
import type { TaskDefinition } from '../tasks/definition.ts';
import type { Outcome } from '../tasks/outcomes.ts';

export type Env = Readonly<Record<string, string>>;

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
  /** Number of this attempt of the task, from 1. */
  attempt: number;
  /** The private home on the host: what the adapter writes here the agent finds in its own home. */
  homeDir: string;
  /** The path of home inside the sandbox: the user's own home path, or `homeDir` itself where there are no mounts (`basic`). */
  homePath: string;
  worktree: string;
  /** The environment of this submission. The adapter keeps of it what its agent may see, and nothing else. */
  env: Env;
  /** The user's real home, for reading what the agent needs. */
  userHome: string;
  /** `S/accounts`: what all agents of one account share. Agents find it read-only, the engine alone writes it. */
  accountsDir: string;
  /** Session of an earlier attempt to continue, where the outcome says so, and the private home it was in. */
  resume?: { session: string; homeDir: string };
}

/** What to run, and what the agent must find inside. */
export interface Launch {
  argv: string[];
  /** The whole environment of the agent, HOME and all. */
  env: Record<string, string>;
  /** Text for stdin; absent: nothing. */
  stdin?: string;
  tty: boolean;
  stderr: 'split' | 'merge';
  /** Read-only toolchain paths, the account's directory and the like: after the mount of the home itself. Empty in `basic`. */
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

/** For {@link AgentAdapter.refreshAccount}. */
export interface AccountContext {
  env: Env;
  userHome: string;
  accountsDir: string;
}

export interface ExitFacts {
  code: number | null;
  signal: number | null;
  cause: 'exit' | 'stop' | 'timeout_wall' | 'timeout_idle' | 'lingered' | 'init_lost';
}

/** Knows one agent CLI. Pure but for `detect`, `prepare` and `refreshAccount`. */
export interface AgentAdapter {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly title: string;
  /** What it may see of a submission's environment, beyond what every agent may: names, or prefixes ending in `*`. */
  readonly environment: readonly string[];
  /** What tasks give it. */
  readonly takes: 'prompt' | 'command';
  /** True when the end of the work is told by an event of its own (so that a lingering process can be ended). */
  readonly hasTerminalEvent: boolean;
  /** Looks on PATH of `env`; null when it is not installed. */
  detect(env: Env, userHome: string): Promise<Detection | null>;
  /**
   * Fills the private home and says what to run. Throws DroverError: `agent_missing` (not installed), `agent_auth` (no
   * credentials), `agent_unsupported` (set up in a way that cannot be had in a sandbox), `agent_input` (no prompt or command).
   */
  prepare(context: PrepareContext): Promise<Launch>;
  /**
   * Keeps what running agents share of an account valid. The engine calls it about once a minute while attempts of this
   * adapter run; it is cheap when nothing is due. Never rejects: what went wrong is the answer, one line, else null.
   */
  refreshAccount?(context: AccountContext): Promise<string | null>;
  parser(): OutputParser;
  /** Turns the agent's own event lines into lines for people; absent: output is text as it is. */
  readonly logFormat: 'text' | 'claude-stream-json';
  /** The agent's own part of the verdict: terminal event and exit status. */
  judge(report: AgentReport, exit: ExitFacts): AgentVerdict;
}
