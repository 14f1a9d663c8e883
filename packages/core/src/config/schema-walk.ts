import * as z from 'zod';
import { type KeyMeta, keyMeta } from './key-meta.ts';

/** One key of a file that holds a value. `*` stands for a name that the user chooses. */
export interface SchemaKey {
  path: string[];
  meta: KeyMeta;
  schema: z.ZodType;
}

/** All keys below a schema, in the order in which they were declared. */
export function schemaKeys(schema: z.ZodType, path: string[] = []): SchemaKey[] {
  const meta = keyMeta(schema);
  if (meta) return [{ path, meta, schema }];
  const inner = unwrap(schema);
  if (inner instanceof z.ZodRecord) return schemaKeys(inner.valueType as z.ZodType, [...path, '*']);
  if (!(inner instanceof z.ZodObject)) return [];
  const own = Object.entries(inner.shape).flatMap(([name, child]) => schemaKeys(child as z.ZodType, [...path, name]));
  const rest = catchall(inner);
  return rest === undefined ? own : [...own, ...schemaKeys(rest, [...path, '*'])];
}

/** A value that was found in a file, with what its key says of it. */
export interface FoundValue {
  path: string[];
  meta: KeyMeta;
  value: unknown;
}

/** The values of a tree that the schema has accepted, in the order of the file. */
export function foundValues(schema: z.ZodType, value: unknown, path: string[] = []): FoundValue[] {
  const meta = keyMeta(schema);
  if (meta) return [{ path, meta, value }];
  return Object.entries(value as Record<string, unknown>).flatMap(([name, child]) => {
    const below = childSchema(schema, name);
    return below === undefined || child === undefined ? [] : foundValues(below, child, [...path, name]);
  });
}

/** Names that are known at a path: what an unknown key may have been meant to be. */
export function knownNames(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let here: z.ZodType | undefined = schema;
  for (const part of path) here = here && childSchema(here, part);
  const inner = here && unwrap(here);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

function childSchema(schema: z.ZodType, name: PropertyKey): z.ZodType | undefined {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray) return inner.element as z.ZodType;
  if (inner instanceof z.ZodRecord) return inner.valueType as z.ZodType;
  if (!(inner instanceof z.ZodObject)) return undefined;
  return Object.hasOwn(inner.shape, name) ? (inner.shape[String(name)] as z.ZodType) : catchall(inner);
}

function catchall(schema: z.ZodObject): z.ZodType | undefined {
  const rest = schema.def.catchall;
  return rest === undefined || rest instanceof z.ZodNever ? undefined : (rest as z.ZodType);
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ? unwrap(schema.unwrap() as z.ZodType) : schema;
}
