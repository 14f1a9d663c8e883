export { type EngineOptions, type RunningEngine, startEngine } from './engine.ts';
