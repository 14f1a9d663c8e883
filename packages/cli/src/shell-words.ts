import { DroverError } from '@drover/core/client';

/** Splits `npm run "my test"` into words: quotes and backslashes as in a shell, and nothing else of it. */
export function shellWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string;
    const escapes = char === '\\' && quote !== "'";
    if (escapes) word = (word ?? '') + (text[++i] ?? '');
    else if (quote) {
      if (char === quote) quote = '';
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote) throw new DroverError('usage', `A quote is not closed: ${text}`);
  if (word !== undefined) words.push(word);
  return words;
}
