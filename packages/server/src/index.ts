/** Public names of @orangebox/server. */

// The archiver
export { type Archiver, type ArchiverOptions, type ArchiverTls, startArchiver } from './archiver/archiver.ts';
export { type ArchiverLimits, DEFAULT_LIMITS } from './archiver/limits.ts';
export { type ArchiverLog, createLog, type LogFields } from './archiver/log.ts';
export type { QuarantineLimits } from './archiver/quarantine.ts';

// Its configuration
export {
  ARCHIVER_PORT,
  type ArchiveConfig,
  type ArchiveFlags,
  parseListen,
  readArchiveConfig,
  readStore,
} from './config.ts';

// The snapshot page
export {
  type LendStore,
  SNAPSHOT_PAGE_PORT,
  type SnapshotPage,
  type SnapshotPageOptions,
  startSnapshotPage,
} from './page/serve.ts';
export type { CommandWords } from './page/commands.ts';
