import { configurationSections, valueCell } from '../config/docs.ts';
import { type SchemaKey, schemaKeys } from '../config/schema-walk.ts';
import { planSchema, taskSchema } from './plan-schema.ts';
import { EXPECTS_NONE } from './resolve-work.ts';

/** `docs/configuration.md`, all of it. */
export function configurationPage(): string {
  const sections = [HEAD, ...configurationSections(), plansSection(), tasksSection(), EXAMPLE];
  return `${sections.join('\n\n')}\n`;
}

const HEAD = `# Configuration and plans

<!-- Made by \`pnpm run docs\` from the schemas in packages/core/src/config and packages/core/src/plan. Change those. -->`;

function plansSection(): string {
  return `## Plans

A plan is a file of tasks in YAML or JSON. It may hold nothing but \`tasks:\`.

${table(schemaKeys(planSchema))}
| \`tasks\` | list | The tasks, at least one. |

Everything is checked before anything starts: unknown keys, ids that are there twice or cannot be part of a branch name,
dependencies that are missing or run in a circle, limits that are too small, above the machine's, or looser than your
configuration's, tasks without work, and more tasks than \`max_queue_size\`.

Running a plan again skips the tasks that are done and unchanged: those whose work (agent, model, prompt or command, verify,
expects, setup, env, dependencies) and base commit are the same. Priority, limits and timeouts do not count.`;
}

function tasksSection(): string {
  return `## Tasks

${table(schemaKeys(taskSchema))}

What a task does not say comes from its type, then from the plan's \`defaults\`, then from configuration. The work is that of the
most specific of these that gives a prompt or a command; a task with neither, whose type gives none, is refused. The agent is the
one named there; else the one named less specifically, if it takes that kind of work; else \`agents.default\` for a prompt and
\`command\` for a command. A model stays with the agent that it was named for.

Without a word on \`expects\`, tasks of type ${EXPECTS_NONE.map((type) => `\`${type}\``).join(', ')} need not change anything; all others must.
\`DROVER_*\`, \`HOME\` and git's own \`GIT_DIR\` and the like cannot be set by \`env\`.`;
}

const EXAMPLE = `## Example

\`\`\`yaml
execution_engine:
  max_parallel_agents: 4
  resource_quotas:
    memory_per_agent: "2G"

types:
  test:
    command: [npm, test]

tasks:
  - id: parser
    prompt: Replace the hand-written parser in src/parser.ts by a table-driven one.
    verify: npm test
    timeout: 45m
  - id: docs
    depends_on: parser
    agent: codex
    prompt: Describe the new parser in docs/parser.md.
    priority: low
  - id: all-tests
    type: test
    depends_on: [parser, docs]
\`\`\``;

function table(keys: readonly SchemaKey[]): string {
  const rows = keys.map(({ path, meta }) => {
    const example = meta.example === undefined ? '' : ` Such as \`${meta.example}\`.`;
    const cells = [`\`${path.join('.')}\``, valueCell(meta), `${meta.meaning}${example}`];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return ['| key | value | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}
