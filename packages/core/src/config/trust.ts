import { issueAt } from './check.ts';
import { cpusOf } from './cpuset.ts';
import type { Entry } from './entries.ts';
import { formatPlace, type Issue } from './issues.ts';
import type { KeyMeta, Tighten, Trust } from './key-meta.ts';
import { LAYERS } from './layers.ts';
import { showValue } from './show.ts';

/** Would `next` be looser than `below`? Null and undefined are "no limit". */
export function loosens(rule: Tighten, below: unknown, next: unknown): boolean {
  switch (rule.tighten) {
    case 'order':
      return rank(rule.order, next ?? rule.absent) < rank(rule.order, below ?? rule.absent);
    case 'min':
      return below != null && (next == null || (next as number) < (below as number));
    case 'max':
      return below != null && (next == null || (next as number) > (below as number));
    case 'subset':
      return below != null && (next == null || !isSubset(cpusOf(next as string), cpusOf(below as string)));
  }
}

function rank(order: readonly string[], value: unknown): number {
  return order.indexOf(String(value));
}

function isSubset(part: Set<number>, whole: Set<number>): boolean {
  return [...part].every((cpu) => whole.has(cpu));
}

/** The tightening rule of a key, if it has one. */
export function tightenRule(trust: Trust): Tighten | null {
  return typeof trust === 'object' ? trust : null;
}

const USER_HINT = 'Set it in your own configuration (~/.config/drover/config.yaml) or by a flag.';

/** Why a layer that is not the user's own may not say this over what holds below it; null when it may. */
export function trustIssue(entry: Entry, below: Entry | undefined): Issue | null {
  if (LAYERS[entry.origin.layer].trusted) return null;
  if (entry.meta.trust === 'userOnly') {
    return untrusted(entry, `${said(entry)}: only your own configuration may set this key`);
  }
  const rule = tightenRule(entry.meta.trust);
  if (rule === null || !loosens(rule, below?.value, entry.value)) return null;
  return untrusted(entry, `${said(entry)} would loosen ${heldBelow(entry.meta, rule, below)}`);
}

function said(entry: Entry): string {
  const preset = entry.origin.preset === undefined ? '' : ` (preset \`${entry.origin.preset}\`)`;
  return `\`${entry.key}: ${showValue(entry.meta, entry.value)}\` of the ${LAYERS[entry.origin.layer].title}${preset}`;
}

function heldBelow(meta: KeyMeta, rule: Tighten, below: Entry | undefined): string {
  if (below === undefined) {
    return `\`${rule.tighten === 'order' ? rule.absent : 'none'}\` of the ${LAYERS.defaults.title}`;
  }
  const { layer } = below.origin;
  const place = layer === 'defaults' ? '' : ` (${formatPlace(below.origin)})`;
  return `\`${showValue(meta, below.value)}\` of the ${LAYERS[layer].title}${place}`;
}

function untrusted(entry: Entry, message: string): Issue {
  const { file, line, column, writtenAs } = entry.origin;
  if (entry.at) return issueAt(entry.at.source, entry.at.path, 'config_untrusted', message, USER_HINT);
  return { code: 'config_untrusted', file, line, column, key: writtenAs, message, hint: USER_HINT };
}
