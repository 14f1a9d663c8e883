import { DroverError, type TaskView } from '@drover/core/client';
import { defineCommand } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { isSettled } from '../follow/done.ts';
import { exitOf, finalReport } from '../follow/final-report.ts';
import { follow } from '../follow/follow.ts';
import { liveView } from '../follow/live-view.ts';
import { plainView, silentView } from '../follow/plain-view.ts';
import { matchRefs } from '../match-refs.ts';
import { milliseconds } from '../option-values.ts';

interface Options {
  any?: boolean;
  timeout?: number;
}

export const command = defineCommand<Options>({
  description: 'Without names: all tasks that are open now. Exits 0 when all of them succeeded, 1 when some did not.',
  options: [
    { flags: '--any', description: 'Until the first of them has ended' },
    {
      flags: '--timeout <time>',
      description: 'Give up after this time, e.g. 10m (exit code 1)',
      parse: milliseconds('--timeout'),
    },
  ],
  examples: [
    ['drover wait', 'For everything that is open'],
    ['drover wait demo/', 'For all tasks of the plan demo'],
    ['drover wait demo/build demo/test --any', 'For the first of two'],
  ],
  async run(context, refs, options) {
    const { out } = context;
    const api = await context.engine();
    const status = await api.status({ all: refs.length > 0 });
    const tasks = refs.length > 0 ? matchRefs(status.tasks, refs) : status.tasks.filter((task) => !isSettled(task));
    if (tasks.length === 0) {
      out.document({ tasks: [] });
      out.line('No open tasks.');
      return EXIT_CODES.ok.code;
    }
    const timeout = options.timeout === undefined ? undefined : AbortSignal.timeout(options.timeout);
    const signal = timeout ? AbortSignal.any([context.interrupted, timeout]) : context.interrupted;
    const view = out.json ? silentView : out.live ? liveView(out) : plainView(out);
    const wanted = {
      refs: tasks.map((task) => task.ref),
      sinceEvent: status.lastEvent ?? 0,
      any: options.any === true,
      signal,
    };
    const ended = await follow(api, wanted, view);
    if (!ended) return givenUp(timeout?.aborted === true);
    const shown = options.any ? ended.filter(isSettled) : ended;
    out.document({ ok: exitOf(shown) === 0, tasks: shown satisfies TaskView[] });
    return await finalReport(shown, out);
  },
});

function givenUp(timedOut: boolean): number {
  if (!timedOut) return EXIT_CODES.interrupted.code;
  throw new DroverError('wait_timeout', 'Not all of them have ended in this time.', 'They go on: drover wait');
}
