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

// A whole run again: what its replay proves, and where it went another way
export { parseMatchRules } from './matching/rules.ts';
export type { LeafDifference, LeafValue, MatchRule, MatchRung, RuleUse } from './matching/types.ts';
export { divergenceText } from './divergence/divergence-text.ts';
export type { CauseClass, ComparedValue, Divergence, DivergenceKind, Origin } from './divergence/types.ts';
export { makeReceipt } from './receipt/make-receipt.ts';
export { RECEIPT_SCHEMA, receiptJson } from './receipt/receipt-json.ts';
export { receiptText } from './receipt/receipt-text.ts';
export { type CheckedRun, checkExitCode, checkSummary, junitXml } from './receipt/checked-runs.ts';
export type { OutputDifference, Receipt, ReceiptFacts, ReceiptVerdict } from './receipt/types.ts';
export { VERDICT_EXIT_CODE } from './receipt/verdict.ts';
