import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Node } from 'yaml';

/** The library looks aliases up one by one through all others. */
const MAX_ALIASES = 2000;
/** Nodes that a document may come to once its aliases are followed: a hundred times over in a file of common size. */
const MAX_EXPANDED = 500_000;

export interface AliasProblem {
  message: string;
  offset: number;
}

/** What is wrong with a document's aliases, found without following them: unknown, circular, or far too much in all. */
export function aliasProblem(doc: Document): AliasProblem | null {
  const counter = new ExpansionCounter();
  try {
    counter.count(doc.contents as Node | null);
    return null;
  } catch (error) {
    if (error instanceof Found) return error.problem;
    throw error;
  }
}

class Found extends Error {
  readonly problem: AliasProblem;

  constructor(message: string, node: Node) {
    super(message);
    this.problem = { message, offset: node.range?.[0] ?? 0 };
  }
}

/** Counts nodes as if each alias stood for a copy; what an anchor holds is counted once. */
class ExpansionCounter {
  private readonly anchors = new Map<string, number | 'open'>();
  private aliases = 0;

  count(node: Node | null): number {
    if (node === null) return 0;
    if (isAlias(node)) return this.countAlias(node, node.source);
    const anchor = (node as { anchor?: string }).anchor;
    if (anchor !== undefined) this.anchors.set(anchor, 'open');
    const sum = 1 + this.countChildren(node);
    if (sum > MAX_EXPANDED) throw new Found('aliases multiply to far too much here', node);
    if (anchor !== undefined) this.anchors.set(anchor, sum);
    return sum;
  }

  private countAlias(node: Node, source: string): number {
    this.aliases += 1;
    if (this.aliases > MAX_ALIASES) throw new Found(`there are more than ${MAX_ALIASES} aliases`, node);
    const size = this.anchors.get(source);
    if (size === undefined) throw new Found(`there is no anchor \`&${source}\` before this alias`, node);
    if (size === 'open') throw new Found(`the alias \`*${source}\` stands inside of what it stands for`, node);
    return size;
  }

  private countChildren(node: Node): number {
    if (isScalar(node)) return 0;
    if (isSeq(node)) return node.items.reduce<number>((sum, item) => sum + this.count(isNode(item) ? item : null), 0);
    if (!isMap(node)) return 0;
    return node.items.reduce((sum, { key, value }) => {
      return sum + this.count(isNode(key) ? key : null) + this.count(isNode(value) ? value : null);
    }, 0);
  }
}
