import { UnitError } from '../shared/units.ts';

const MAX_CPU = 4095;

/** Checks a list of CPUs such as `0-1,3` and writes it in its plain form. */
export function parseCpuset(text: string): string {
  return formatCpuset(cpusOf(text));
}

/** The CPUs that a list names. */
export function cpusOf(text: string): Set<number> {
  const cpus = new Set<number>();
  for (const part of text.replace(/\s+/g, '').split(',')) {
    const match = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (!match || last < first || last > MAX_CPU) {
      throw new UnitError(`\`${text.slice(0, 60)}\` is not a list of CPUs`, 'Write a list such as `0-1,3`.');
    }
    for (let cpu = first; cpu <= last; cpu += 1) cpus.add(cpu);
  }
  return cpus;
}

function formatCpuset(cpus: Set<number>): string {
  const ranges: [number, number][] = [];
  for (const cpu of [...cpus].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && last[1] === cpu - 1) last[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}
