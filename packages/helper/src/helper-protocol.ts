import { z } from 'zod';
import { HelperError } from './helper-error.ts';
import type { RecordList } from './records.ts';

/*
 * The requests of docs/helper-protocol.md as a table, in the words of the helper's own (`drover-helper --print-protocol`, native/protocol.c).
 * A test holds the two against each other.
 */

export type FieldType = 'number' | 'limit' | 'cpus' | 'word' | 'id' | 'tag' | 'path' | 'text' | 'env' | 'host';

export interface Field {
  name: string;
  type: FieldType;
  /** Of a number its value, of a text its length in bytes. */
  min: number;
  max: number;
  required: boolean;
  repeat: boolean;
  /** Of a word: the ones there are, separated by `|`. */
  words: string;
}

type Options = Partial<Pick<Field, 'min' | 'max' | 'required' | 'repeat' | 'words'>>;

function field(name: string, type: FieldType, options: Options = {}): Field {
  return { name, type, min: 0, max: 0, required: false, repeat: false, words: '', ...options };
}

const PATH = { min: 1, max: 4095 };
const TEXT_MAX = 60_000;
const BYTES_MAX = 2 ** 50;
const MILLISECONDS_MAX = 31_622_400_000;
const SIZE = { min: 4096, max: BYTES_MAX };
const SANDBOX = field('sandbox', 'id', { min: 17, max: 17, required: true });

const LIMITS: Field[] = [
  field('cpu_quota_us', 'limit'),
  field('cpu_weight', 'limit'),
  field('cpuset', 'cpus', { min: 1, max: 255 }),
  ...['memory_max', 'swap_max', 'swappiness', 'pids_max'].map((name) => field(name, 'limit')),
  ...['io_rbps', 'io_wbps', 'io_riops', 'io_wiops'].map((name) => field(name, 'limit')),
];

/** Every operation with the keys that its request may have. */
export const OPERATIONS = {
  hello: [field('version', 'number', { min: 1, max: 2 ** 32 - 1, required: true })],
  create: [
    field('tag', 'tag', { min: 1, max: 64, required: true }),
    field('level', 'word', { required: true, words: 'enhanced|full' }),
    field('oom', 'word', { words: 'kill|tolerate' }),
    field('io_path', 'path', PATH),
    ...LIMITS,
  ],
  spawn: [
    SANDBOX,
    field('dir', 'path', { ...PATH, required: true }),
    field('cwd', 'path', { ...PATH, required: true }),
    field('arg', 'text', { max: TEXT_MAX, required: true, repeat: true }),
    field('env', 'env', { min: 1, max: TEXT_MAX, repeat: true }),
    field('hostname', 'host', { min: 1, max: 64 }),
    field('tty', 'number', { max: 1 }),
    field('rows', 'number', { min: 1, max: 65535 }),
    field('cols', 'number', { min: 1, max: 65535 }),
    field('stderr', 'word', { words: 'split|merge' }),
    field('stdin', 'path', PATH),
    field('deadline_ms', 'number', { min: 1, max: MILLISECONDS_MAX }),
    field('grace_ms', 'number', { max: MILLISECONDS_MAX }),
    field('settle_ms', 'number', { max: MILLISECONDS_MAX }),
    field('log_max', 'number', { max: BYTES_MAX }),
    field('tmp_size', 'number', SIZE),
    field('shm_size', 'number', SIZE),
    field('mount', 'word', { repeat: true, words: 'ro|rw|tmpfs' }),
    field('src', 'path', { ...PATH, repeat: true }),
    field('dst', 'path', { ...PATH, repeat: true }),
    field('size', 'number', { ...SIZE, repeat: true }),
  ],
  update: [SANDBOX, ...LIMITS],
  freeze: [SANDBOX],
  thaw: [SANDBOX],
  kill: [SANDBOX, field('group', 'word', { required: true, words: 'agent|all' })],
  stats: [field('sandbox', 'id', { min: 17, max: 17 })],
  list: [],
  remove: [SANDBOX],
  subscribe: [],
  shutdown: [],
} as const satisfies Record<string, readonly Field[]>;

export type Operation = keyof typeof OPERATIONS;

const PATTERNS: Partial<Record<FieldType, RegExp>> = {
  limit: /^(max|0|[1-9]\d*)$/,
  id: /^s[0-9a-f]{16}$/,
  tag: /^[a-zA-Z0-9][a-zA-Z0-9._:-]*$/,
  host: /^[a-zA-Z0-9][a-zA-Z0-9.-]*$/,
  path: /^\//,
  env: /^[^=]+=/,
};

function valueSchema(f: Field): z.ZodType<string> {
  if (f.type === 'word') return z.enum(f.words.split('|'));
  const pattern = f.type === 'number' ? /^(0|[1-9]\d*)$/ : PATTERNS[f.type];
  const text = pattern ? z.string().regex(pattern) : z.string();
  if (f.type === 'limit') return text;
  const size = (value: string): number => (f.type === 'number' ? Number(value) : Buffer.byteLength(value));
  return text.refine((value) => size(value) >= f.min && size(value) <= f.max, `between ${f.min} and ${f.max}`);
}

function requestSchema(fields: readonly Field[]): z.ZodType {
  const shape = fields.map((f) => {
    const values = z.array(valueSchema(f));
    const bounded = f.repeat ? values.min(1) : values.length(1);
    return [f.name, f.required ? bounded : bounded.optional()] as const;
  });
  return z.strictObject(Object.fromEntries(shape));
}

const SCHEMAS = Object.fromEntries(Object.entries(OPERATIONS).map(([op, fields]) => [op, requestSchema(fields)]));

/** Throws a {@link HelperError} `bad_request` for what the helper would refuse by its table. */
export function checkRequest(op: Operation, records: RecordList): void {
  const values: Record<string, string[]> = {};
  for (const [key, value] of records) {
    values[key] ??= [];
    values[key].push(value);
  }
  const result = SCHEMAS[op]!.safeParse(values);
  if (result.success) return;
  const issue = result.error.issues[0]!;
  throw new HelperError('bad_request', `${op}: ${issue.path.join(' ')}: ${issue.message}`, { cause: result.error });
}
