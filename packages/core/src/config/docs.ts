import { SHIPPED_DEFAULTS } from './defaults.ts';
import { SHIPPED_ENVIRONMENT } from './environment.ts';
import { type Trust, VALUE_KINDS } from './key-meta.ts';
import { isNotYet } from './not-yet.ts';
import { PRESETS } from './presets.ts';
import { configSchema } from './schema.ts';
import { type SchemaKey, schemaKeys } from './schema-walk.ts';
import { showValue } from './show.ts';

/** Markdown made from the schema, for `docs/configuration.md`. */

/** The sections on configuration. */
export function configurationSections(): string[] {
  return [LAYERS_TEXT, UNITS_TEXT, keysSection(), presetsSection(), environmentSection()];
}

const LAYERS_TEXT = `## Layers

Later ones win, key by key (of \`types\`, type by type):

1. shipped defaults
2. your own file: \`$XDG_CONFIG_HOME/drover/config.yaml\`, else \`~/.config/drover/config.yaml\`
3. \`.drover/config.yaml\` of the repository, as its base commit has it
4. the plan's own \`execution_engine\`, \`types\` and \`config\`
5. flags

\`drover config show\` says for each key what holds and which file and line set it.

### Trust

Your own file and flags may say anything. A repository or a plan is written by others as often as not, so that each key below says
what they may do with it:

| trust | a repository or a plan |
| --- | --- |
| free | may set it |
| lower only, higher only, fewer only, stricter only | may make it stricter than the layers below do; no limit is the loosest |
| yours only | may not set it |

Anything else is refused with the code \`config_untrusted\`, both values and the places of both. Limits of a plan's tasks are held
against your configuration in the same way. Variables that name keys or the servers that keys are sent to
(\`*_API_KEY\`, \`*_BASE_URL\` and the like) cannot be set by them either.

### Errors

All faults of all files come at once, each with file, line, column, key, what is wrong and what to do. A file may have 1 MiB, be
nested 100 levels deep, and use YAML anchors and merges (\`<<\`) in moderation. JSON is read too. Unknown keys are refused.`;

const UNITS_TEXT = `## Units

| value | written as |
| --- | --- |
| size | \`512M\`, \`2G\`, \`1.5GiB\`; K, M, G, T are 1024-based whatever follows; a bare number is bytes |
| rate | \`10MB/s\`, \`5M\`; as sizes, per second |
| duration | \`30s\`, \`5m\`, \`1h30m\`, \`250ms\`, \`2d\`; \`none\` is no limit. A bare number is refused (seconds to some, minutes to others), but for \`0\` |
| CPUs | \`0.5\`, \`"0.5"\`, \`2\`, to a hundredth |
| percentage | \`80\`, \`"80%"\` |
| CPU list | \`0-1,3\` |
| command | a list is its argv; a text goes to \`sh -c\` |
| list of commands | each of them a text or a list; a text alone is one command |

A limit that says \`none\` takes away what a layer below set.`;

function keysSection(): string {
  const sections = new Map<string, SchemaKey[]>();
  for (const entry of schemaKeys(configSchema)) {
    const top = entry.path[0]!;
    sections.set(top, [...(sections.get(top) ?? []), entry]);
  }
  const tables = [...sections].map(([top, keys]) => `### \`${top}\`\n\n${keyTable(keys)}${SECTION_NOTES[top] ?? ''}`);
  return `## Keys\n\n${tables.join('\n\n')}`;
}

const SECTION_NOTES: Readonly<Record<string, string>> = {
  types:
    '\n\nThe keys of a type are those of a task but for `id`, `type`, `depends_on` and `base`: see "Tasks" below. A type may give both a prompt and a command, and so may a task where an agent is named; then the agent decides which it takes.',
  execution_engine:
    '\n\nThe keys of `resource_quotas` are other names of the limits below. Keys without effect yet are accepted, and each use of them is answered with a warning.',
};

/** A table of keys; paths are shown below the first part of the first one where all share it. */
export function keyTable(keys: readonly SchemaKey[]): string {
  const rows = keys.map(({ path, meta }) => {
    const key = path.join('.');
    const defaults = SHIPPED_DEFAULTS[key];
    const shown =
      key === 'environment.pass' ? 'see below' : defaults === undefined ? '' : code(showValue(meta, defaults));
    const cells = [
      code(key.replaceAll('*', 'NAME')),
      valueCell(meta),
      shown,
      trustText(meta.trust),
      meaningCell(key, meta),
    ];
    return `| ${cells.map(escapeCell).join(' | ')} |`;
  });
  return ['| key | value | default | trust | meaning |', '| --- | --- | --- | --- | --- |', ...rows].join('\n');
}

export function valueCell({ kind, words }: SchemaKey['meta']): string {
  return words === undefined ? VALUE_KINDS[kind] : words.map(code).join(', ');
}

function meaningCell(key: string, meta: SchemaKey['meta']): string {
  const parts = [meta.meaning];
  if (meta.aliasOf !== undefined) parts.push(`Another name of \`${meta.aliasOf}\`.`);
  if (meta.merge === 'append') parts.push('Layers add to each other.');
  if (meta.example !== undefined) parts.push(`Such as \`${meta.example}\`.`);
  if (isNotYet(key)) parts.push('*No effect yet in this version.*');
  return parts.join(' ');
}

const TIGHTEN_TEXT = { max: 'lower only', min: 'higher only', subset: 'fewer only', order: 'stricter only' } as const;

function trustText(trust: Trust): string {
  if (trust === 'free') return 'free';
  return trust === 'userOnly' ? 'yours only' : TIGHTEN_TEXT[trust.tighten];
}

function presetsSection(): string {
  const meta = new Map(schemaKeys(configSchema).map((entry) => [entry.path.join('.'), entry.meta]));
  const presets = Object.entries(PRESETS).map(([name, { meaning, values }]) => {
    const rows = Object.entries(values).map(
      ([key, value]) => `| ${code(key)} | ${code(showValue(meta.get(key)!, value))} |`,
    );
    return [`### \`preset: ${name}\``, '', meaning, '', '| key | value |', '| --- | --- |', ...rows].join('\n');
  });
  return `## Presets\n\n${presets.join('\n\n')}`;
}

function environmentSection(): string {
  return `## Environment

Of the environment of \`drover run\`, an agent gets ${SHIPPED_ENVIRONMENT.map(code).join(', ')}, what \`environment.pass\` and
\`agents.NAME.env\` add, and what its task sets by \`env\`. Variables of Drover's own: \`DROVER_STATE_DIR\` (state directory) and
\`DROVER_HELPER_SOCKET\` (socket of the helper). No variable sets a key of configuration.`;
}

export function code(text: string): string {
  return `\`${text}\``;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
