import type { EngineApi } from '@drover/core/client';

/** Aborts when this attempt has ended, or the engine cannot be asked any more. */
export function attemptEnd(api: EngineApi, ref: string, attempt: string): AbortSignal {
  const over = new AbortController();
  const ended = async () => {
    const task = await api.task({ ref });
    return task.history.find((a) => a.id === attempt)?.state === 'ended' || task.state === 'ended';
  };
  const watch = async () => {
    const { lastEvent = 0 } = await api.status({});
    if (await ended()) return;
    for await (const event of api.events({ sinceSeq: lastEvent }, over.signal)) {
      if (event.kind.endsWith('_ended') && (await ended())) return;
    }
  };
  void watch()
    .catch(() => {})
    .finally(() => over.abort());
  return over.signal;
}
