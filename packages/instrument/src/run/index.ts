/** Run mode: loaded where a whole run is recorded or replayed, and nowhere else. */
export { CallSites } from './call-site.ts';
export { signCommand, type SignedCommand } from './command-signature.ts';
export { hookPlatform, type PlatformHooks } from './hook-platform.ts';
export { startRecording } from './start-recording.ts';
export { runFacts } from './run-facts.ts';
export { watchOutput } from './output.ts';
export { whenProcessEnds } from './process-end.ts';
export type {
  ChildPort,
  ChildStart,
  Drawn,
  DrawPort,
  SyncChildResult,
  SyncChildStart,
  TimerPort,
  TimerRequest,
  Undo,
} from './ports.ts';
