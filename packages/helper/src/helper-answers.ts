import { getRecord, getRecords, type RecordList } from './records.ts';

export interface HelperHello {
  server: string;
  mode: string;
  uid: number;
  /** Whose uid agents have: the peer's own, or one that the helper allots. */
  agentUid: 'same' | 'allotted';
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
  event: string;
  sandbox: string;
  tag: string;
}

export function parseHello(list: RecordList): HelperHello {
  return {
    server: getRecord(list, 'server') ?? '',
    mode: getRecord(list, 'mode') ?? '',
    uid: Number(getRecord(list, 'uid')),
    agentUid: getRecord(list, 'agent_uid') === 'allotted' ? 'allotted' : 'same',
    caps: getRecords(list, 'cap'),
    missing: getRecords(list, 'missing').map((text) => {
      const at = text.indexOf(':');
      return at < 0 ? { cap: text, reason: '' } : { cap: text.slice(0, at), reason: text.slice(at + 1).trim() };
    }),
    maxSandboxes: Number(getRecord(list, 'max_sandboxes')),
  };
}

export function parseCreated(list: RecordList): HelperCreated {
  return {
    sandbox: getRecord(list, 'sandbox')!,
    agentUid: Number(getRecord(list, 'agent_uid')),
    agentGid: Number(getRecord(list, 'agent_gid')),
    enforced: getRecords(list, 'enforced'),
  };
}

export function parseList(list: RecordList): HelperListed[] {
  return blocks(list).map((block) => ({
    sandbox: getRecord(block, 'sandbox')!,
    tag: getRecord(block, 'tag') ?? '',
    level: getRecord(block, 'level') ?? '',
    agentUid: Number(getRecord(block, 'agent_uid')),
    agentGid: Number(getRecord(block, 'agent_gid')),
    populated: getRecord(block, 'populated') === '1',
    frozen: getRecord(block, 'frozen') === '1',
    createdMs: Number(getRecord(block, 'created_ms')),
  }));
}

/** Protocol key of each figure. */
const FIGURES = {
  cpuUs: 'cpu_us',
  mem: 'mem',
  memAnon: 'mem_anon',
  memPeak: 'mem_peak',
  pids: 'pids',
  pidsPeak: 'pids_peak',
  oomKills: 'oom_kills',
  pidsMaxHits: 'pids_max_hits',
  rbytes: 'rbytes',
  wbytes: 'wbytes',
  throttledUs: 'throttled_us',
} as const;

export function parseStats(list: RecordList): HelperStats[] {
  return blocks(list).map((block) => {
    const stats: HelperStats = { sandbox: getRecord(block, 'sandbox')!, tag: getRecord(block, 'tag') ?? '' };
    for (const [name, key] of Object.entries(FIGURES)) {
      const text = getRecord(block, key);
      if (text !== undefined) stats[name as keyof typeof FIGURES] = Number(text);
    }
    for (const key of ['populated', 'frozen'] as const) {
      const text = getRecord(block, key);
      if (text !== undefined) stats[key] = text === '1';
    }
    return stats;
  });
}

export function parseEvent(list: RecordList): HelperEvent {
  return {
    event: getRecord(list, 'event') ?? '',
    sandbox: getRecord(list, 'sandbox') ?? '',
    tag: getRecord(list, 'tag') ?? '',
  };
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
