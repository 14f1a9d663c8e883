export { Database } from './database.ts';
export type { RepositoryRow } from './schema.ts';
export * from './store.ts';
