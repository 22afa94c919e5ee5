/** Public names of @orangebox/replay. */

export type {
  LookupOptions,
  RecordedReplay,
  RecordedReplayOptions,
  RecordedServer,
  Reference,
  Rehydrated,
  ResendOptions,
  ResendPlan,
  ResendResult,
  ResentCall,
  ServeEvent,
  ServeOptions,
} from './types.ts';

// The recorded call as objects
export { rehydrate } from './rehydrate.ts';

// The recorded answer, offline
export { replayRecorded } from './replay-recorded.ts';
export { serveRecorded } from './serve-recorded.ts';

// The request again, live, and what came of it
export { resend } from './resend/resend.ts';
export { credentialFor } from './resend/providers.ts';
export { compare, compareResent, type NoiseComparison, type VerdictCounts } from './compare.ts';
