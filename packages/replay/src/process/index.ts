/** Process replay: what is loaded into a program that runs again. */
export { AskedExchange } from './asked-exchange.ts';
export { openProcessReplay, parsePlan, type ReplayPlan } from './open-replay.ts';
export { platform } from './platform.ts';
export { ProcessReplay, type ProcessReplayOptions } from './process-replay.ts';
export type { ProcessReport } from './process-report.ts';
