export type { ExitRecord } from './exit-record.ts';
export * from './records.ts';
