export { claudeAdapter } from './adapter.ts';
export { renderClaudeLine } from './render.ts';
