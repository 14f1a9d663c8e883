import { z } from 'zod';
import { HelperError } from './helper-error.ts';
import { getRecords, type RecordList } from './records.ts';

const number = z.string().regex(/^\d+$/).transform(Number);
const flag = z.enum(['0', '1']).transform((text) => text === '1');

const hello = z.object({
  server: z.string(),
  mode: z.enum(['v1', 'hybrid', 'v2']),
  uid: number,
  agent_uid: z.enum(['same', 'allotted']),
  max_sandboxes: number,
});
const created = z.object({ sandbox: z.string(), agent_uid: number, agent_gid: number });
const spawned = z.object({ keeper_pid: number, init_pid: number });
const listed = z.object({
  sandbox: z.string(),
  tag: z.string(),
  level: z.string(),
  agent_uid: number,
  agent_gid: number,
  populated: flag.optional(),
  frozen: flag.optional(),
  created_ms: number,
});
const stats = z.object({
  sandbox: z.string(),
  tag: z.string(),
  cpu_us: number.optional(),
  mem: number.optional(),
  mem_anon: number.optional(),
  mem_peak: number.optional(),
  pids: number.optional(),
  pids_peak: number.optional(),
  oom_kills: number.optional(),
  pids_max_hits: number.optional(),
  rbytes: number.optional(),
  wbytes: number.optional(),
  throttled_us: number.optional(),
  populated: flag.optional(),
  frozen: flag.optional(),
});
const event = z.object({ event: z.enum(['empty', 'oom', 'pids_max']), sandbox: z.string(), tag: z.string() });

export interface HelperHello {
  server: string;
  mode: 'v1' | 'hybrid' | 'v2';
  uid: number;
  /** Whose uid agents have: the peer's own, or one that the helper allots. */
  agentUid: 'same' | 'allotted';
  /** What can be had here: `spawn`, `kill`, `freeze`, `abstract_sockets`, limits as `limit.KEY`. */
  caps: string[];
  /** What this machine does not give, with the reason; limits as `limit.KEY`. */
  missing: { cap: string; reason: string }[];
  maxSandboxes: number;
}

export interface HelperCreated {
  sandbox: string;
  agentUid: number;
  agentGid: number;
  /** Keys of the limits that hold. */
  enforced: string[];
}

export interface HelperListed {
  sandbox: string;
  tag: string;
  level: string;
  agentUid: number;
  agentGid: number;
  /** Whether anything lives in the sandbox: the agent, its init, a command of settling. */
  populated: boolean;
  frozen: boolean;
  createdMs: number;
}

/** Figures of the agent's group: bytes, microseconds, counts. Absent: the machine does not give it. */
export interface HelperStats {
  sandbox: string;
  tag: string;
  cpuUs?: number;
  mem?: number;
  memAnon?: number;
  memPeak?: number;
  pids?: number;
  pidsPeak?: number;
  oomKills?: number;
  pidsMaxHits?: number;
  rbytes?: number;
  wbytes?: number;
  throttledUs?: number;
  populated?: boolean;
  frozen?: boolean;
}

export interface HelperEvent {
  event: 'empty' | 'oom' | 'pids_max';
  sandbox: string;
  tag: string;
}

export function parseHello(list: RecordList): HelperHello {
  const { agent_uid: agentUid, max_sandboxes: maxSandboxes, ...rest } = parse(hello, list);
  const missing = getRecords(list, 'missing').map((text) => {
    const at = text.indexOf(':');
    return at < 0 ? { cap: text, reason: '' } : { cap: text.slice(0, at), reason: text.slice(at + 1).trim() };
  });
  return { ...rest, agentUid, maxSandboxes, caps: getRecords(list, 'cap'), missing };
}

export function parseCreated(list: RecordList): HelperCreated {
  const { sandbox, agent_uid: agentUid, agent_gid: agentGid } = parse(created, list);
  return { sandbox, agentUid, agentGid, enforced: getRecords(list, 'enforced') };
}

export function parseSpawned(list: RecordList): { keeperPid: number; initPid: number } {
  const { keeper_pid: keeperPid, init_pid: initPid } = parse(spawned, list);
  return { keeperPid, initPid };
}

export function parseList(list: RecordList): HelperListed[] {
  return blocks(list).map((block) => {
    const {
      agent_uid: agentUid,
      agent_gid: agentGid,
      created_ms: createdMs,
      populated,
      frozen,
      ...rest
    } = parse(listed, block);
    return { ...rest, agentUid, agentGid, populated: populated ?? false, frozen: frozen ?? false, createdMs };
  });
}

export function parseStats(list: RecordList): HelperStats[] {
  return blocks(list).map((block) => {
    const entries = Object.entries(parse(stats, block)).map(([key, value]) => [camel(key), value]);
    return Object.fromEntries(entries) as HelperStats;
  });
}

export function parseEvent(list: RecordList): HelperEvent {
  return parse(event, list);
}

function parse<T extends z.ZodType>(schema: T, list: RecordList): z.output<T> {
  // The first of a repeated key counts; those that are lists are read with getRecords.
  const result = schema.safeParse(Object.fromEntries(list.toReversed()));
  if (result.success) return result.data;
  throw new HelperError('bad_answer', `the helper's answer is not understood: ${result.error.message}`, {
    cause: result.error,
  });
}

function camel(key: string): string {
  return key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** An answer about several sandboxes: each begins with its `sandbox` record. */
function blocks(list: RecordList): RecordList[] {
  const found: [string, string][][] = [];
  for (const [key, value] of list) {
    if (key === 'sandbox') found.push([]);
    found.at(-1)?.push([key, value]);
  }
  return found;
}
