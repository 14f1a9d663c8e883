import { defineCommand } from '../define-command.ts';
import { wholeNumber } from '../option-values.ts';
import { cleanText } from '../term/sanitize.ts';

interface Options {
  stat?: boolean;
  attempt?: number;
}

export const command = defineCommand<Options>({
  options: [
    { flags: '--stat', description: 'Files and counts only' },
    {
      flags: '--attempt <n>',
      description: 'Of this attempt (default: the accepted or last one)',
      parse: wholeNumber('--attempt'),
    },
  ],
  examples: [
    ['drover diff demo/build', 'The whole change'],
    ['drover diff demo/build --stat', 'What it touched'],
    ['drover diff demo/build | git apply', 'Take it into this worktree'],
  ],
  async run(context, [ref = ''], options) {
    const { out } = context;
    const api = await context.engine();
    const diff = await api.diff({ ref, stat: options.stat === true, attempt: options.attempt });
    out.document(diff);
    if (out.json) return undefined;
    // Into a pipe it goes as it is, so that it can be applied.
    out.stdout.write(out.stdout.isTTY ? cleanText(diff.text) : diff.text);
    if (diff.truncated) out.note(`It is cut. The whole: git diff ${diff.base} ${diff.head}`);
    return undefined;
  },
});
