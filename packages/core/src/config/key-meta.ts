import * as z from 'zod';

/**
 * What a file that is not the user's own may do with a key.
 * `free`: anything. `userOnly`: nothing. `tighten`: only make it stricter than the layers below it do.
 */
export type Trust = 'free' | 'userOnly' | Tighten;

export type Tighten =
  | { readonly tighten: 'max' | 'min' | 'subset' }
  | {
      readonly tighten: 'order';
      readonly order: readonly string[] /** What an absent value counts as. */;
      readonly absent: string;
    };

/** What stands about a key in docs, messages and `drover config show`. */
export interface KeyMeta {
  readonly kind: ValueKind;
  /** One sentence or two. */
  readonly meaning: string;
  readonly trust: Trust;
  /** The key whose other name this is. */
  readonly aliasOf?: string;
  /** `append`: a layer adds to the list of those below it instead of taking its place. */
  readonly merge?: 'append';
  readonly example?: string;
  /** The words to choose from. */
  readonly words?: readonly string[];
}

/** Kinds of values: how docs call them. */
export const VALUE_KINDS = {
  size: 'size',
  rate: 'rate',
  duration: 'duration',
  cpus: 'CPUs',
  percent: 'percentage',
  count: 'whole number',
  number: 'number',
  cpuset: 'CPU list',
  word: 'word',
  text: 'text',
  flag: 'true or false',
  priority: 'word or number',
  command: 'command',
  commands: 'list of commands',
  texts: 'list of texts',
  names: 'id or list of ids',
  environment: 'mapping',
  section: 'mapping',
} as const;
export type ValueKind = keyof typeof VALUE_KINDS;

const registry = z.registry<KeyMeta>();

/** Marks a schema as one key of a file, optional, with what is to be known of it. */
export function key<T extends z.ZodType>(schema: T, meta: KeyMeta): z.ZodOptional<T> {
  const optional = schema.optional();
  registry.add(optional, meta);
  return optional;
}

/** Meta of a key, or undefined for a section that holds keys. */
export function keyMeta(schema: z.ZodType): KeyMeta | undefined {
  return registry.get(schema);
}
