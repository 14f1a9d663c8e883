// Writes the pages of docs/ that are made from code. Run after the build.
import { writeFileSync } from 'node:fs';
import { configurationPage } from '../packages/core/dist/plan/docs.js';

writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationPage());
