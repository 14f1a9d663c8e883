/** One message of the helper's, the keeper's or the init's protocol: `key=value` records in order, keys may repeat. */
export type RecordList = ReadonlyArray<readonly [key: string, value: string]>;

const KEY = /^[a-z0-9_]{1,32}$/;

/** Largest record list in bytes, as in `native/records.h`. */
export const FRAME_MAX = 65536;

/** Thrown for bytes or values that are no record list. */
export class RecordError extends Error {
  override readonly name = 'RecordError';
}

/** Encodes a record list. Throws {@link RecordError} for a bad key, a NUL in a value, an empty list or one over {@link FRAME_MAX}. */
export function encodeRecords(list: RecordList): Buffer {
  const parts: string[] = [];
  for (const [key, value] of list) {
    if (!KEY.test(key)) throw new RecordError(`'${key}' is not a record key`);
    if (value.includes('\0')) throw new RecordError(`the value of '${key}' holds a NUL byte`);
    parts.push(`${key}=${value}\0`);
  }
  const bytes = Buffer.from(parts.join(''));
  if (bytes.length === 0) throw new RecordError('a record list needs one record at least');
  if (bytes.length > FRAME_MAX)
    throw new RecordError(`the message has ${bytes.length} bytes; ${FRAME_MAX} is the most`);
  return bytes;
}

/** Decodes a record list. Throws {@link RecordError} when the bytes are none. */
export function decodeRecords(bytes: Buffer): RecordList {
  if (bytes.length === 0 || bytes[bytes.length - 1] !== 0) throw new RecordError('a record list ends with a NUL byte');
  return bytes
    .toString('utf8', 0, bytes.length - 1)
    .split('\0')
    .map((record) => {
      const at = record.indexOf('=');
      const key = record.slice(0, at);
      if (at < 0 || !KEY.test(key)) throw new RecordError(`'${record.slice(0, 40)}' is not a key=value record`);
      return [key, record.slice(at + 1)] as const;
    });
}

/** The value of the first record with `key`, or undefined. */
export function getRecord(list: RecordList, key: string): string | undefined {
  return list.find(([k]) => k === key)?.[1];
}

/** All values of `key`, in order. */
export function getRecords(list: RecordList, key: string): string[] {
  return list.filter(([k]) => k === key).map(([, v]) => v);
}
