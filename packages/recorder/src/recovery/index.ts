/** Public names of @orangebox/recorder/recovery: shipping what a process that ended has left. */
export { createRecovery, type RecoverySettings } from './create-recovery.ts';
export { type FollowEvents, followDirectory } from './follow-directory.ts';
export type { FollowCounts } from './live-series.ts';
export { type BesideSettings, recoverBeside } from './recover-beside.ts';
export { recoverDirectory, type RecoveryReport } from './recover-directory.ts';
export type { RecoveryCounts, RecoveryHost } from './recover-series.ts';
export { sweepFullDirectory, type SweptCounts, sweepWhileFull } from './sweep-full.ts';
