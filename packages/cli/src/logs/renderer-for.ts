import type { LogPlace } from '@drover/core/client';
import { cleanText } from '../term/sanitize.ts';
import type { Style, StyleName } from '../term/style.ts';
import { type LogRenderer, textRenderer } from './renderer.ts';

/** How each kind of line is shown: a sign before it, and a colour. */
const KINDS: Readonly<Record<string, readonly [sign: string, style?: StyleName]>> = {
  text: [''],
  tool: ['> ', 'cyan'],
  result: ['  ', 'dim'],
  error: ['! ', 'red'],
  warning: ['! ', 'yellow'],
  note: ['# ', 'dim'],
  end: ['# ', 'bold'],
};

/** The renderer of a log's format. Formats of adapters are loaded only when they are met. */
export async function rendererFor(format: LogPlace['format'], style: Style): Promise<LogRenderer> {
  if (format === 'text') return textRenderer();
  const { logRenderer } = await import('@drover/core/agents');
  const inner = logRenderer(format);
  const show = ({ kind, text }: { kind: string; text: string }) => {
    const [sign, name] = KINDS[kind] ?? [''];
    const line = `${sign}${cleanText(text)}`;
    return name ? style(name, line) : line;
  };
  return { push: (bytes) => inner.push(bytes).map(show), end: () => inner.end().map(show) };
}
