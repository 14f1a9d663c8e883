import type { LogPlace } from '@drover/core/client';
import { type LogRenderer, textRenderer } from './renderer.ts';

/** The renderer of a log's format. Formats of adapters are loaded only when they are met. */
export async function rendererFor(format: LogPlace['format']): Promise<LogRenderer> {
  switch (format) {
    case 'text':
    case 'claude-stream-json':
      return textRenderer();
  }
}
