export { startBasicKeeper } from './basic-keeper.ts';
export { helperBinary, initBinary, keeperBinary } from './binaries.ts';
export type { ExitRecord } from './exit-record.ts';
export { readExitRecord } from './exit-record-file.ts';
export * from './keeper-client.ts';
export { KeeperError } from './keeper-error.ts';
export { type KeeperSpec, specRecords } from './keeper-spec.ts';
export * from './records.ts';
