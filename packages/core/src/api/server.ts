/** The engine's side of the API. */
export { createRouter, type EngineRouter, type EngineService } from './router.ts';
export { type EngineServer, type ServeOptions, serveEngine } from './serve.ts';
