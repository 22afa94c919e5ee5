/** Run mode: loaded where a whole run is recorded or replayed, and nowhere else. */
export { CallSites } from './call-site.ts';
export { signCommand, signFiles, type SignedCommand } from './command-signature.ts';
export { ContentStore, sha256Of } from './files/content-store.ts';
export { keyedContentHash, readContent } from './files/file-content.ts';
export { redirectPaths } from './files/redirected-paths.ts';
export { type SeenEntry, type SeenTree, seeTree } from './files/tree.ts';
export { hookPlatform, type PlatformHooks } from './hook-platform.ts';
export { startRecording } from './start-recording.ts';
export { environmentKey, runFacts } from './run-facts.ts';
export { watchOutput } from './output.ts';
export { whenProcessEnds } from './process-end.ts';
export { plainJson } from './plain-data.ts';
export { outcomeOf } from './recorded-tools.ts';
export type {
  ChildPort,
  ChildStart,
  Drawn,
  DrawPort,
  InputPort,
  SyncChildResult,
  SyncChildStart,
  SyncInput,
  ThreadPort,
  TimerPort,
  TimerRequest,
  Undo,
  WorkPort,
} from './ports.ts';
