// Writes the reference in Markdown from the comments of the sources.
const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

const directory = join(__dirname, '../src');
console.log('# Reference\n');
for (const file of readdirSync(directory).sort()) {
  const match = readFileSync(join(directory, file), 'utf8').match(/\/\*\*\n([\s\S]*?)\*\/\nfunction (\w+)\(([^)]*)\)/);
  if (!match) continue;
  const lines = match[1].split('\n').map((line) => line.replace(/^ \* ?/, '').trimEnd());
  const tags = lines.filter((line) => line.startsWith('@'));
  console.log(`## \`${match[2]}(${match[3]})\`\n`);
  console.log(`${lines.filter((line) => !line.startsWith('@')).join('\n').trim()}\n`);
  for (const tag of tags) console.log(`- ${tag.replace(/^@param \{(.*?)\} (\w+)/, '`$2`: `$1`').replace(/^@returns \{(.*?)\}/, 'returns `$1`')}`);
  console.log();
}
