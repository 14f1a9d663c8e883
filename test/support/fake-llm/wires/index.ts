import { anthropicWire } from './anthropic.ts';
import type { Wire } from './wire.ts';

/** Every API that the endpoint speaks. */
export const WIRES: readonly Wire[] = [anthropicWire];
