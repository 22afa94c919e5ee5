/** Public names of @orangebox/codec. Each section is one concern; keep names listed one by one. */

// Canonical JSON, hash, bodies, headers, digest
export { appendAll } from './append-all.ts';
export { CANONICAL_JSON_MAX_DEPTH, canonicalJson } from './canonical-json.ts';
export type { Sha256 } from './hash.ts';
export { concatBytes, fromBase64, toBase64, utf8, utf8Text } from './bytes.ts';
export { decodeBody, encodeBody, type ResolveBody } from './body.ts';
export { headerOf } from './headers.ts';
export { snapshotDigest, verifySnapshotDigest } from './digest.ts';
export { parseIndexRow } from './index-row.ts';
export { snapshotShapeError } from './snapshot-shape.ts';

// Segments
export { type Crc32, crc32 } from './crc32.ts';
export { encodeRecord, encodeSegmentHeader, FrameBatch } from './frames.ts';
export {
  type DecodedFrame,
  type DecodeSegmentOptions,
  decodeSegment,
  type SegmentDecoder,
  type SegmentState,
} from './decode-segment.ts';
export type { SegmentSource } from './segment-source.ts';

// Records to snapshots
export {
  addToExchange,
  type CollectedRecords,
  collectRecords,
  type ExchangePartRecord,
  type ExchangeRecords,
  newExchangeRecords,
} from './records.ts';
export {
  type AssembledExchanges,
  assembleExchanges,
  buildCallSnapshot,
  buildCrashedCallSnapshot,
  buildMeasuredCall,
  buildToolSnapshot,
  type CallFacts,
  type CallInput,
  fidelityOf,
  type MeasuredSnapshot,
  type ToolFacts,
} from './assemble.ts';

export {
  type BodyFacts,
  BodyMeasure,
  LARGE_BODY_MIN_BYTES,
  type LargeBody,
  type RunningSha256,
} from './large-body.ts';
export type { BodyBytes } from './assemble-exchange.ts';
export { snapshotJson, snapshotPieces } from './snapshot-pieces.ts';

// Recognition, streams, protocol adapters, conversations
export { CONFIRM_BODY_MAX_BYTES, confirmBody, type Recognition, recogniseRequest } from './recognise.ts';
export { parseSse, type SseEvent, SseParser } from './sse.ts';
export type { Described } from './adapters/described.ts';
export type { ContentDecoder } from './adapters/input.ts';
export { describeCall, withViews } from './adapters/index.ts';
export { embeddingVector } from './adapters/openai-embeddings.ts';
export {
  type ConversationHashes,
  chainOf,
  hashAfter,
  hashConversation,
  isConversation,
  type Junction,
  toolResultsOf,
} from './conversation.ts';
export {
  type CallPlace,
  type Continuation,
  CONVERSATION_INDEX_MAX_ENTRIES,
  type ContinuationEvidence,
  ConversationIndex,
  type IndexedCall,
} from './conversation-index.ts';
export { Interned } from './interned.ts';
export { type AskedToolCall, type JoinedToolResult, TOOL_JOINS_MAX_CALLS, ToolJoins } from './tool-joins.ts';

// Redaction
export { BodyRedactor } from './redaction/body-redactor.ts';
export {
  isCredentialHeader,
  isCredentialParameter,
  isSecretEnvName,
  type NamedSecret,
  SECRET_MIN_BYTES,
  secretsOfEnvironment,
} from './redaction/names.ts';
export { PATTERN_WINDOW_BYTES } from './redaction/pattern-finder.ts';
export { createRedactor, type Redactor, type RedactorOptions } from './redaction/redactor.ts';
export { isSecretToken, SECRET_TOKEN_PATTERN } from './redaction/tokens.ts';
export { type Comparison, compareSnapshots, type Difference, type DifferenceRank } from './diff.ts';
