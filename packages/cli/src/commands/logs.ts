import { DroverError, type EngineApi, type LogPlace } from '@drover/core/client';
import { openKeeper } from '../attach/open-keeper.ts';
import { type Context, defineCommand } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { attemptEnd } from '../logs/attempt-end.ts';
import { readLog } from '../logs/read-file.ts';
import { textRenderer } from '../logs/renderer.ts';
import { rendererFor } from '../logs/renderer-for.ts';
import { chooseSources, type LogSource, type SourceChoice } from '../logs/sources.ts';
import { tailLog } from '../logs/tail-file.ts';
import { wholeNumber } from '../option-values.ts';

interface Options extends SourceChoice {
  follow?: boolean;
  raw?: boolean;
  attempt?: number;
}

export const command = defineCommand<Options>({
  description:
    'Shows lines without anything that could steer the terminal; events of an agent that writes JSON are shown as text. --raw gives the bytes as they were written.',
  options: [
    { flags: '-f, --follow', description: 'Go on until the agent has ended' },
    { flags: '--stderr', description: 'Standard error in the place of standard output' },
    { flags: '--setup', description: 'Output of the setup commands' },
    { flags: '--verify', description: 'Output of the verify command' },
    { flags: '--attempt <n>', description: 'Of this attempt (default: the last)', parse: wholeNumber('--attempt') },
    { flags: '--raw', description: 'Bytes as they are' },
  ],
  examples: [
    ['drover logs demo/build', 'What it wrote'],
    ['drover logs demo/build -f', 'And what it goes on to write'],
    ['drover logs demo/build --verify', 'Why verify failed'],
  ],
  async run(context, [ref = ''], options) {
    if (options.raw && context.out.json) throw new DroverError('usage', '--raw and --json do not go together.');
    const api = await context.engine();
    const place = await api.logs({ ref, ...(options.attempt === undefined ? {} : { attempt: options.attempt }) });
    const sources = chooseSources(place, options);
    const follow = options.follow === true && place.live;
    for (const source of sources) {
      if (sources.length > 1) context.out.line(context.out.style('bold', `==> ${source.title} <==`));
      const bytes = follow ? followed(api, ref, place, source, context.interrupted) : readLog(source.path);
      await show(bytes, place, source, options.raw === true, context);
      if (context.interrupted.aborted) return EXIT_CODES.interrupted.code;
    }
    return EXIT_CODES.ok.code;
  },
});

/** Stdout comes from the keeper; other files are read as they grow. */
async function* followed(api: EngineApi, ref: string, place: LogPlace, source: LogSource, interrupted: AbortSignal) {
  if (!source.isStdout) {
    const end = AbortSignal.any([interrupted, attemptEnd(api, ref, place.attempt)]);
    return yield* tailLog(source.path, end);
  }
  const keeper = await openKeeper(place.directory, { mode: 'ro', offset: 0 });
  interrupted.addEventListener('abort', () => keeper.close(), { once: true });
  yield* keeper.output;
}

async function show(
  bytes: AsyncIterable<Uint8Array>,
  place: LogPlace,
  source: LogSource,
  raw: boolean,
  { out }: Context,
) {
  if (raw) {
    for await (const chunk of bytes) {
      out.stdout.write(chunk);
      await out.drained();
    }
    return;
  }
  const renderer = source.isStdout ? await rendererFor(place.format, out.style) : textRenderer();
  const print = (lines: string[]) => {
    if (out.json) for (const line of lines) out.record({ source: source.title, line });
    else if (lines.length > 0) out.line(lines.join('\n'));
  };
  for await (const chunk of bytes) {
    print(renderer.push(chunk));
    await out.drained();
  }
  print(renderer.end());
}
