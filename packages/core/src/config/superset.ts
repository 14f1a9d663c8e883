import * as z from 'zod';
import { checkSource } from './check.ts';
import { type Issue, throwIssues } from './issues.ts';
import { parseSource, type SourceText } from './source.ts';
import { commands } from './values.ts';

/** Commands of a `.superset/config.json`; argv each. */
export interface SupersetConfig {
  setup: string[][];
  teardown: string[][];
  run: string[][];
}

const supersetSchema = z.strictObject({
  setup: commands().optional(),
  teardown: commands().optional(),
  run: commands().optional(),
});

/** Reads a `.superset/config.json` as it stands. Throws {@link ConfigError} with everything that is wrong. */
export function loadSupersetConfig(text: SourceText): SupersetConfig {
  const issues: Issue[] = [];
  const source = parseSource(text, 'config_invalid', issues);
  const settings = source && checkSource(supersetSchema, source, 'config_invalid', issues);
  throwIssues('config_invalid', issues);
  return { setup: settings?.setup ?? [], teardown: settings?.teardown ?? [], run: settings?.run ?? [] };
}
