import { type EngineApi, isDroverError } from '@drover/core/client';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type * as z from 'zod';

/** The engine as tools see it. */
export type Engine = Pick<EngineApi, 'status'>;

/** One tool. `run` gives the structured answer; `text` says the same facts for clients that show only text. */
export interface ToolSpec<Input extends z.ZodObject, Output extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  input: Input;
  output: Output;
  readOnly: boolean;
  run(engine: Engine, input: z.output<Input>): Promise<z.output<Output>>;
  text(answer: z.output<Output>): string;
}

export type Register = (server: McpServer, engine: Engine) => void;

/** Makes a tool that answers errors in the one form of all tools: `CODE: what is wrong. What to do.` */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  spec: ToolSpec<Input, Output>,
): Register {
  return (server, engine) => {
    const config = {
      title: spec.title,
      description: spec.description,
      inputSchema: spec.input as z.ZodObject,
      outputSchema: spec.output as z.ZodObject,
      annotations: {
        readOnlyHint: spec.readOnly,
        destructiveHint: false,
        idempotentHint: spec.readOnly,
        openWorldHint: false,
      },
      // Without it Claude Code shows the model a name only.
      _meta: { 'anthropic/alwaysLoad': true },
    };
    server.registerTool(spec.name, config, async (input) => {
      try {
        const answer = await spec.run(engine, input as z.output<Input>);
        return { content: [{ type: 'text', text: spec.text(answer) }], structuredContent: answer };
      } catch (error) {
        return failure(error);
      }
    });
  };
}

function failure(error: unknown): CallToolResult {
  const known = isDroverError(error);
  const code = (known ? error.code : 'internal').toUpperCase();
  const message = error instanceof Error ? error.message : String(error);
  const hint = known && error.hint ? ` ${error.hint}` : '';
  return { isError: true, content: [{ type: 'text', text: `${code}: ${message}${hint}` }] };
}
