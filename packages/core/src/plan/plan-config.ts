import { type Issue, issueAt, type Source } from '../config/index.ts';

/** Keys of a plan that are configuration under the same name. */
const SAME_KEYS = ['execution_engine', 'types'] as const;
const SHORT = 'max_parallel_agents';

/** Sees what of a plan is configuration as a source of its own, with the places of the plan's text. */
export function planConfigSource(plan: Source, issues: Issue[]): Source {
  const all = plan.data as Record<string, unknown>;
  const config = isMapping(all.config) ? all.config : {};
  refuseTwice(plan, all, config, issues);
  const data: Record<string, unknown> = { ...config };
  for (const key of SAME_KEYS) if (key in all) data[key] = all[key];
  if (SHORT in all) data.execution_engine = withShort(data.execution_engine, all[SHORT]);
  const place = (path: readonly PropertyKey[]): readonly PropertyKey[] => placeInPlan(all, path);
  return {
    file: plan.file,
    data,
    locate: (path) => plan.locate(place(path)),
    label: (key) => plan.label(labelInPlan(all, key)),
  };
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withShort(engine: unknown, value: unknown): unknown {
  return engine === undefined || isMapping(engine) ? { ...engine, [SHORT]: value } : engine;
}

function placeInPlan(all: Record<string, unknown>, path: readonly PropertyKey[]): readonly PropertyKey[] {
  if (path[0] === 'execution_engine' && path[1] === SHORT && SHORT in all) return [SHORT];
  return String(path[0]) in all && SAME_KEYS.includes(path[0] as 'types') ? path : ['config', ...path];
}

function labelInPlan(all: Record<string, unknown>, key: string): string {
  if (key === `execution_engine.${SHORT}` && SHORT in all) return SHORT;
  const top = SAME_KEYS.find((name) => key === name || key.startsWith(`${name}.`));
  return top !== undefined && top in all ? key : `config.${key}`;
}

/** The same key at two places of one plan leaves it open which is meant. */
function refuseTwice(
  plan: Source,
  all: Record<string, unknown>,
  config: Record<string, unknown>,
  issues: Issue[],
): void {
  const twice = (path: string[], other: string) =>
    issues.push(issueAt(plan, path, 'plan_invalid', `sets the same as \`${other}\``, 'Keep one of them.'));
  for (const key of SAME_KEYS) if (key in all && key in config) twice(['config', key], key);
  const engine = all.execution_engine ?? config.execution_engine;
  if (SHORT in all && isMapping(engine) && SHORT in engine) twice([SHORT], `execution_engine.${SHORT}`);
  if ('config' in all && !isMapping(all.config)) {
    issues.push(issueAt(plan, ['config'], 'plan_invalid', 'must be a mapping'));
  }
}
