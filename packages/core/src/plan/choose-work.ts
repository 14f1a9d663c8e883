import {
  type AdapterInfo,
  agentSettings,
  type Config,
  findAdapter,
  type Issue,
  unknownAgentHint,
} from '../config/index.ts';
import { type Level, levelIssue } from './level.ts';

/** What is to be done, and by whom. */
export interface Work {
  agent: string;
  model?: string;
  prompt?: string;
  command?: string[];
}

export interface ChooseInput {
  task: string;
  type: string;
  /** From the most specific one. */
  levels: readonly Level[];
  config: Config;
  adapters: readonly AdapterInfo[];
  /** Takes the place of every task's own agent. */
  agentOverride?: string | undefined;
}

/** Type of a task that names none. */
export const PLAIN_TYPE = 'task';

type Kind = AdapterInfo['takes'];

/**
 * The work is that of the most specific level that gives a prompt or a command. The agent is the one named there or above; an
 * agent named by a less specific level holds only if it takes that kind of work. A type may give both, and so may a task where an agent is named: then the agent decides.
 */
export function chooseWork(input: ChooseInput, issues: Issue[]): Work | null {
  const count = issues.length;
  if (!namesAgent(input)) for (const level of input.levels) refuseBoth(level, issues);
  const at = input.levels.findIndex((level) => kindsOf(level).length > 0);
  if (at < 0) issues.push(noWork(input));
  const named = namedAgent(input, issues);
  if (issues.length > count) return null;
  const own = fitting(input, at, named);
  const adapter = overriding(input, issues) ?? own;
  if (issues.length > count) return null;
  if (adapter === null) {
    issues.push(levelIssue(input.levels[at]!, [], 'there is no agent that takes such work'));
    return null;
  }
  const level = input.agentOverride === undefined ? input.levels[at]! : giverOf(input.levels, adapter.takes, at);
  if (!kindsOf(level).includes(adapter.takes)) {
    issues.push(misfit(adapter, level, named?.level));
    return null;
  }
  const model = modelOf(input, adapter, adapter === own ? modelReach(input, adapter, named, at) : 0);
  return {
    agent: adapter.name,
    ...(model === undefined ? {} : { model }),
    ...(adapter.takes === 'prompt' ? { prompt: level.settings.prompt! } : { command: level.settings.command! }),
  };
}

function kindsOf(level: Level): Kind[] {
  const { prompt, command } = level.settings;
  return [
    ...(prompt === undefined ? [] : (['prompt'] as const)),
    ...(command === undefined ? [] : (['command'] as const)),
  ];
}

/** Where somebody says who does the work, a task may be worded for both kinds of agent. */
function namesAgent({ levels, agentOverride }: ChooseInput): boolean {
  return agentOverride !== undefined || levels.some((level) => level.settings.agent !== undefined);
}

function refuseBoth(level: Level, issues: Issue[]): void {
  if (level.kind === 'type' || kindsOf(level).length < 2) return;
  issues.push(
    levelIssue(
      level,
      ['command'],
      `${level.title} has both a prompt and a command`,
      'Keep one of them, or name the `agent:` that decides.',
    ),
  );
}

function noWork({ task, type, levels }: ChooseInput): Issue {
  const hasType = levels.some((level) => level.kind === 'type');
  const noType =
    type === PLAIN_TYPE ? 'names no type that would give one' : `there is no type \`${type}\` that would give one`;
  const why = hasType ? `its type \`${type}\` gives none` : noType;
  return levelIssue(
    levels[0]!,
    [],
    `task \`${task}\` has neither a prompt nor a command, and ${why}`,
    `Give it \`prompt:\` or \`command:\`, or define \`types: {${type}: ...}\` in the plan or in your configuration.`,
  );
}

interface Named {
  adapter: AdapterInfo;
  index: number;
  level: Level;
}

/** The agent that the most specific level names. */
function namedAgent({ levels, adapters }: ChooseInput, issues: Issue[]): Named | null {
  const index = levels.findIndex((level) => level.settings.agent !== undefined);
  const level = levels[index];
  if (level === undefined) return null;
  const name = level.settings.agent!;
  const adapter = findAdapter(adapters, name);
  if (adapter) return { adapter, index, level };
  issues.push(levelIssue(level, ['agent'], `there is no agent \`${name}\``, unknownAgentHint(adapters, name)));
  return null;
}

function overriding({ agentOverride, adapters, levels }: ChooseInput, issues: Issue[]): AdapterInfo | null {
  if (agentOverride === undefined) return null;
  const adapter = findAdapter(adapters, agentOverride);
  if (adapter) return adapter;
  const hint = unknownAgentHint(adapters, agentOverride);
  const flags = { ...levels[0]!.source, file: 'flags', locate: () => null, label: () => 'agent' };
  issues.push(
    levelIssue({ ...levels[0]!, source: flags, path: [] }, ['agent'], `there is no agent \`${agentOverride}\``, hint),
  );
  return null;
}

/** Who does the work of a level, where nobody was named for it in particular. */
function fitting({ levels, config, adapters }: ChooseInput, at: number, named: Named | null): AdapterInfo | null {
  if (named !== null && named.index <= at) return named.adapter;
  const kinds = kindsOf(levels[at]!);
  const candidates = [named?.adapter, findAdapter(adapters, config.defaultAgent), ...adapters];
  return candidates.find((adapter) => adapter !== undefined && kinds.includes(adapter.takes)) ?? null;
}

/** The most specific level with work of a kind; the one with any work when there is none. */
function giverOf(levels: readonly Level[], kind: Kind, at: number): Level {
  return levels.find((level) => kindsOf(level).includes(kind)) ?? levels[at]!;
}

function misfit(adapter: AdapterInfo, work: Level, agent: Level | undefined): Issue {
  const gives = adapter.takes === 'prompt' ? 'command' : 'prompt';
  const wants = adapter.takes;
  return levelIssue(
    agent?.kind === 'task' ? agent : work,
    agent?.kind === 'task' ? ['agent'] : [gives],
    `agent \`${adapter.name}\` takes a ${wants}, but ${work.title} gives a ${gives}`,
    `Give a \`${wants}:\`, or take another agent.`,
  );
}

/** A model goes with the agent it was named for: how many levels, from the most specific one, speak of this agent. */
function modelReach({ levels }: ChooseInput, adapter: AdapterInfo, named: Named | null, at: number): number {
  if (named === null) return levels.length;
  return (named.adapter === adapter ? named.index : at) + 1;
}

function modelOf({ levels, config }: ChooseInput, adapter: AdapterInfo, reach: number): string | undefined {
  if (adapter.takes === 'command') return undefined;
  const level = levels.slice(0, reach).find(({ settings }) => settings.model !== undefined);
  return level?.settings.model ?? agentSettings(config, adapter).model;
}
