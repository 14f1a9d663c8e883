export type ObjectFormat = 'sha1' | 'sha256';

const HEX = { sha1: /^[0-9a-f]{40}$/, sha256: /^[0-9a-f]{64}$/ } as const;

/** True for a full object id of this format, and for nothing that git could read as another revision. */
export function isOid(text: string, format: ObjectFormat): boolean {
  return HEX[format].test(text);
}

/** The id that means "no such ref" to update-ref. */
export function zeroOid(format: ObjectFormat): string {
  return '0'.repeat(format === 'sha1' ? 40 : 64);
}
