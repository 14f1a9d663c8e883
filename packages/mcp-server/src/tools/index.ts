import type { Register } from '../define-tool.ts';
import { fleetStatus } from './fleet-status.ts';

/** All tools, in the order that clients list them. */
export const TOOLS: readonly Register[] = [fleetStatus];
