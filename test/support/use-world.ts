import { afterAll, beforeAll } from 'vitest';
import { createWorld, type World, type WorldOptions } from './world.ts';

/** A world for all tests of a file; whatever it leaves behind fails the file. */
export function useWorld(options: WorldOptions = {}): () => World {
  let world: World | undefined;
  beforeAll(async () => {
    world = await createWorld(options);
  });
  afterAll(() => world?.dispose());
  return () => world!;
}
