/** Process replay: what is loaded into a program that runs again. */
export { isSoundDirectory, PathPair } from './files/path-pair.ts';
export { placeFile, targetWithin } from './files/place-files.ts';
export { type RecordedFiles, recordedFiles } from './files/recorded-files.ts';
export { childRunsOf, commandOf, findRun, findRuns, type FoundRun, runDigest } from './find-runs.ts';
export { openProcessReplay, parsePlan, type ReplayPlan, sealUnrecordedThread } from './open-replay.ts';
export { parseReports } from './parse-report.ts';
export { ProcessReplay, type ProcessReplayOptions } from './process-replay.ts';
export type { ProcessReport } from './process-report.ts';
export { type RecordedRun, readRun } from './recorded-run.ts';
export { withoutServedTools } from './served-tools.ts';
export { placeKey, type UnpinnedPlan } from './unpinned-draws.ts';
export { sealWorkers, type WorkerReplayData, workerReplayData } from './sealed/sealed-workers.ts';
