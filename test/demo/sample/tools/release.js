// Raises the minor version and writes the change log from the commits since the last tag, or from all.
const { execFileSync } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const [major, minor] = manifest.version.split('.').map(Number);
manifest.version = `${major}.${minor + 1}.0`;
const changes = git('log', '--no-merges', '--reverse', '--format=- %s', 'v1.4.0..HEAD');
writeFileSync('package.json', `${JSON.stringify(manifest, null, 2)}\n`);
writeFileSync('CHANGELOG.md', `# Changes\n\n## ${manifest.version}\n\n${changes}\n`);
