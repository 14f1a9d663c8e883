const CHARACTER = 8.43;
const LINE = 19;
const PADDING = 18;
const TOP = 44;

/** Milliseconds for which the last frame stands before the picture begins again. */
const REST_MS = 8_000;

/** An SVG that plays frames `{ atMs, rows }`. Where nothing is animated, the last one is seen. */
export function animatedSvg(frames, columns) {
  const rows = Math.max(...frames.map((frame) => frame.rows.length));
  const width = Math.ceil(columns * CHARACTER + 2 * PADDING);
  const height = TOP + rows * LINE + PADDING;
  const total = frames.at(-1).atMs + REST_MS;
  return `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Recording of a terminal in which drover runs a plan">
<style>
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d6deeb; white-space: pre; }
  .b { font-weight: bold } .d { fill: #7c8aa0 } .red { fill: #ff6b6b } .green { fill: #7ee08a } .yellow { fill: #ffd166 }
  .blue { fill: #6cb6ff } .magenta { fill: #d2a8ff } .cyan { fill: #56d4dd }
  .f { visibility: hidden }
  .last { visibility: visible }
${frames.map((frame, n) => keyframes(frame, frames[n + 1], n, total)).join('\n')}
</style>
<rect width="${width}" height="${height}" rx="10" fill="#0d1420"/>
<circle cx="22" cy="20" r="6" fill="#ff5f57"/><circle cx="42" cy="20" r="6" fill="#febc2e"/><circle cx="62" cy="20" r="6" fill="#28c840"/>
${frames.map((frame, n) => group(frame, n, n === frames.length - 1)).join('\n')}
</svg>
`;
}

function keyframes(frame, next, n, total) {
  const percent = (ms) => ((100 * ms) / total).toFixed(3);
  const from = percent(frame.atMs);
  const to = next ? percent(next.atMs) : '100';
  const before = frame.atMs > 0 ? `0% { visibility: hidden } ` : '';
  const after = next ? ` ${to}%, 100% { visibility: hidden }` : '';
  return `  @keyframes k${n} { ${before}${from}% { visibility: visible }${after} }
  .f${n} { animation: k${n} ${(total / 1000).toFixed(1)}s step-end infinite }`;
}

function group(frame, n, last) {
  const lines = frame.rows.map((row, y) => line(row, TOP + (y + 0.75) * LINE)).filter(Boolean);
  return `<g class="f f${n}${last ? ' last' : ''}">${lines.join('')}</g>`;
}

function line(row, y) {
  const runs = runsOf(row);
  if (runs.length === 0) return '';
  return `<text y="${y}">${runs.map(run).join('')}</text>`;
}

/** Neighbouring words of one style; wider gaps are left out, since every run says where it stands. */
function runsOf(row) {
  const runs = [];
  row.forEach((cell, x) => {
    const style = classOf(cell?.style ?? {});
    const char = cell?.char ?? ' ';
    const current = runs.at(-1);
    const follows = current?.style === style && current.x + current.text.length === x;
    if (follows && !(char === ' ' && current.text.endsWith(' '))) current.text += char;
    else if (char !== ' ') runs.push({ x, style, text: char });
  });
  return runs.map((each) => ({ ...each, text: each.text.trimEnd() }));
}

function classOf(style) {
  return [style.bold && 'b', style.dim && 'd', style.colour].filter(Boolean).join(' ');
}

function run({ x, style, text }) {
  const place = `x="${(PADDING + x * CHARACTER).toFixed(1)}" textLength="${(text.length * CHARACTER).toFixed(1)}"`;
  return `<tspan ${place}${style ? ` class="${style}"` : ''}>${escaped(text)}</tspan>`;
}

const escaped = (text) => text.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
