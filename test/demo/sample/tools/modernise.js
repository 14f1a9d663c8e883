// Rewrites `var` as `const`, or as `let` where the name is assigned again later in its file.
const { readFileSync, writeFileSync } = require('node:fs');

for (const file of process.argv.slice(2)) {
  const text = readFileSync(file, 'utf8');
  const assignedAgain = (name) => new RegExp(`(^|[^.\\w])${name}\\s*([+\\-*/]?=[^=]|\\+\\+|--)`, 'g');
  const result = text.replace(/\bvar (\w+)/g, (_, name) => {
    const writes = text.match(assignedAgain(name)) ?? [];
    return `${writes.length > 1 ? 'let' : 'const'} ${name}`;
  });
  if (result !== text) writeFileSync(file, result);
}
