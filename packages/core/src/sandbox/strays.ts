import type { SandboxProvider } from './types.ts';

/**
 * Removes sandboxes that nobody will ask for any more: of an engine that died between making one and recording it, or whose
 * helper was away when it was to be removed. `refOf` answers the sandbox that an attempt counts on: null for none,
 * undefined for an attempt that is not of this engine, whose sandboxes are left alone. Answers how many were removed.
 */
export async function removeStrays(
  provider: SandboxProvider,
  refOf: (attemptId: string) => string | null | undefined,
): Promise<number> {
  const strays = (await provider.all()).filter(({ ref, attemptId }) => {
    const wanted = refOf(attemptId);
    return wanted !== undefined && wanted !== ref;
  });
  for (const { ref } of strays) await (await provider.adopt(ref))?.destroy();
  return strays.length;
}
