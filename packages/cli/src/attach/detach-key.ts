import { DroverError } from '@drover/core/client';

export interface DetachKey {
  byte: number;
  name: string;
}

/** `ctrl-]` or `^]`: the byte that a terminal sends for it. */
export function detachKey(text: string): DetachKey {
  const match = /^(?:ctrl-|\^)([a-z@[\\\]^_])$/i.exec(text);
  if (!match?.[1])
    throw new DroverError('usage', `'${text}' is no key for leaving`, 'Use one such as ctrl-] or ctrl-q.');
  const letter = match[1].toUpperCase();
  return { byte: letter.charCodeAt(0) & 0x1f, name: `Ctrl-${letter}` };
}
