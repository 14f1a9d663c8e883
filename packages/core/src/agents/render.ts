import { renderClaudeLine } from './claude/render.ts';
import { LineReader } from './lines.ts';
import type { AgentAdapter } from './types.ts';

/** One line for people. `kind` is for whoever has colours. */
export interface RenderedLine {
  kind: 'text' | 'tool' | 'result' | 'error' | 'warning' | 'note' | 'end';
  text: string;
}

/** Turns an agent's output into readable lines as it comes. */
export interface LogRenderer {
  push(bytes: Uint8Array): RenderedLine[];
  end(): RenderedLine[];
}

const LINE_RENDERERS: Readonly<Record<AgentAdapter['logFormat'], (line: string) => RenderedLine[]>> = {
  text: (line) => [{ kind: 'text', text: line }],
  'claude-stream-json': renderClaudeLine,
};

/** A renderer for one stream, by `LogPlace.format`. */
export function logRenderer(format: AgentAdapter['logFormat']): LogRenderer {
  const render = LINE_RENDERERS[format];
  let ready: RenderedLine[] = [];
  const lines = new LineReader(
    (line) => ready.push(...render(line)),
    (length) => ready.push({ kind: 'warning', text: `(a line of ${length} characters)` }),
  );
  const take = () => {
    const taken = ready;
    ready = [];
    return taken;
  };
  return {
    push(bytes) {
      lines.push(bytes);
      return take();
    },
    end() {
      lines.end();
      return take();
    },
  };
}
