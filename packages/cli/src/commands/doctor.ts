import type { CheckStatus, Finding } from '@drover/core/doctor';
import { defineCommand } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { cleanLine } from '../term/sanitize.ts';
import type { StyleName } from '../term/style.ts';
import { loadWidths, pad } from '../term/width.ts';

const SIGNS: Readonly<Record<CheckStatus, readonly [word: string, style: StyleName]>> = {
  ok: ['ok', 'green'],
  warn: ['warn', 'yellow'],
  missing: ['missing', 'red'],
};

export const command = defineCommand({
  description:
    'For each thing: what is there, what it costs when it is missing, how to get it. Exits 1 when something is missing.',
  examples: [
    ['drover doctor', 'What can this machine do?'],
    ['drover doctor --json', 'As JSON'],
  ],
  async run({ out, env }) {
    const { realReaders, runDoctor } = await import('@drover/core/doctor');
    const { machineFacts } = await import('../machine-facts.ts');
    const findings = await runDoctor(realReaders(env, machineFacts(env)));
    out.document({ findings });
    await show(findings, out);
    const missing = findings.some((finding) => finding.status === 'missing');
    return missing ? EXIT_CODES.failed.code : EXIT_CODES.ok.code;
  },
});

async function show(findings: Finding[], out: Output): Promise<void> {
  await loadWidths(findings.map((finding) => finding.name));
  const width = Math.max(...findings.map((finding) => finding.name.length));
  const indent = ' '.repeat(width + 11);
  for (const finding of findings) {
    const [word, style] = SIGNS[finding.status];
    out.line(`${out.style(style, pad(word, 8))} ${pad(cleanLine(finding.name), width)}  ${cleanLine(finding.found)}`);
    if (finding.status === 'ok') continue;
    out.line(`${indent}${cleanLine(finding.cost)}`);
    out.line(`${indent}${out.style('dim', cleanLine(finding.fix))}`);
  }
}
