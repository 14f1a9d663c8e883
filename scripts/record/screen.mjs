const ESC = String.fromCharCode(27);
const UNFINISHED = new RegExp(`${ESC}(\\[[0-9;?]*)?$`);
const TOKEN = new RegExp(`${ESC}\\[[0-9;?]*[a-zA-Z]|${ESC}[^[]|[\\s\\S]`, 'gu');

/**
 * A terminal screen, as far as `drover` uses one: text, colours, carriage return, moving up, erasing.
 * A row is an array of cells `{ char, style }`; rows scroll out at the top.
 */
export class Screen {
  constructor(columns, rows) {
    this.columns = columns;
    this.rows = rows;
    this.lines = [[]];
    this.x = 0;
    this.y = 0;
    this.style = {};
    this.rest = '';
  }

  write(text) {
    const input = this.rest + text;
    // An escape sequence may be cut at the end of a chunk: it is kept for the next one.
    const cut = input.search(UNFINISHED);
    this.rest = cut < 0 ? '' : input.slice(cut);
    const whole = cut < 0 ? input : input.slice(0, cut);
    for (const [token] of whole.matchAll(TOKEN)) this.#take(token);
  }

  /** The rows that are visible now. */
  visible() {
    return this.lines.slice(-this.rows).map((line) => [...line]);
  }

  text() {
    return this.visible()
      .map((line) =>
        line
          .map((cell) => cell?.char ?? ' ')
          .join('')
          .trimEnd(),
      )
      .join('\n');
  }

  #take(token) {
    if (token === '\r') this.x = 0;
    else if (token === '\n') this.#lineFeed();
    else if (token.startsWith(`${ESC}[`)) this.#control(token.slice(2, -1), token.at(-1));
    else if (token >= ' ' && !token.startsWith(ESC)) this.#put(token);
  }

  #put(char) {
    if (this.x >= this.columns) {
      this.x = 0;
      this.#lineFeed();
    }
    const line = this.lines[this.y];
    while (line.length < this.x) line.push({ char: ' ', style: {} });
    line[this.x++] = { char, style: this.style };
  }

  #lineFeed() {
    this.y++;
    if (this.y === this.lines.length) this.lines.push([]);
  }

  #control(parameters, final) {
    const n = Number.parseInt(parameters, 10) || 0;
    if (final === 'm') this.style = restyled(this.style, parameters);
    else if (final === 'A') this.y = Math.max(0, this.y - (n || 1));
    else if (final === 'B') this.y = Math.min(this.lines.length - 1, this.y + (n || 1));
    else if (final === 'C') this.x += n || 1;
    else if (final === 'G') this.x = (n || 1) - 1;
    else if (final === 'K') this.#eraseLine(n);
    else if (final === 'J') this.#eraseBelow();
  }

  #eraseLine(how) {
    this.lines[this.y].length = how === 2 ? 0 : Math.min(this.lines[this.y].length, this.x);
  }

  #eraseBelow() {
    this.#eraseLine(0);
    this.lines.length = this.y + 1;
  }
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** The style after one `m` sequence. */
function restyled(style, parameters) {
  let next = { ...style };
  for (const code of (parameters || '0').split(';').map(Number)) {
    if (code === 0) next = {};
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 22) next = { ...next, bold: false, dim: false };
    else if (code === 39) next.colour = undefined;
    else if (code >= 30 && code <= 37) next.colour = COLOURS[code - 30];
    else if (code >= 90 && code <= 97) next.colour = COLOURS[code - 90];
  }
  return next;
}
