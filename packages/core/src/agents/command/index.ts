export { commandAdapter } from './adapter.ts';
