// Writes the pages of docs/ that are made from code. Run after the build.
import { writeFileSync } from 'node:fs';
import { cliPage } from '../packages/cli/dist/docs.js';
import { configurationPage } from '../packages/core/dist/plan/docs.js';

const write = (name, text) => writeFileSync(new URL(`../docs/${name}`, import.meta.url), text);

write('configuration.md', configurationPage());
write('cli.md', await cliPage());
