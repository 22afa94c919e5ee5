/** Public names of @orangebox/store. */

// The interface
export type {
  DeleteResult,
  ListFilter,
  SnapshotStore,
  StoredEntry,
  StoredStatus,
  StoreProblem,
} from './store.ts';

// Stores
export { createMemoryStore } from './memory-store.ts';
export { createDirectoryStore, type DirectoryStore } from './objects/directory-store.ts';
export { findStoreDirectory, openStore } from './open-store.ts';
export {
  createSegmentFileStore,
  createSegmentStore,
  type DroppedCount,
  type SegmentStore,
} from './segments/segment-store.ts';
export type { LiveThread, OpenCall } from './segments/live-processes.ts';

// References and sessions
export type { ReferenceOptions, ResolvedReference } from './reference-types.ts';
export { findSessionId, resolveOne, resolveReference } from './references.ts';
export { parseTraceUrl, type TraceUrl } from './sources/trace-url.ts';

// Objects of a key, for stores elsewhere
export { type KeyObjects, readObjects } from './objects/object-reader.ts';
export { decodePayload, encodePayload, SNAPSHOT_MAX_BYTES } from './objects/payload.ts';
export { type EnvelopePart, readEnvelopes } from './objects/envelope.ts';
export type { Attributes, AttributeValue } from './objects/otlp-wire.ts';
export {
  addEvent,
  type PayloadEvent,
  payloadEvent,
  readTraceRequest,
  type TraceRequest,
  type TraceRequestLimits,
} from './objects/trace-request.ts';
export { parseSnapshot, verifySnapshot } from './snapshot-shape.ts';

// How an entry went
export { endedByCaller, hasFailed } from './outcome.ts';

// Content
export { DECODED_BODY_MAX_BYTES, decodeContent } from './decode-content.ts';
export { type DecodedStart, decodeStart } from './decode-start.ts';
export { sha256 } from './hash.ts';

// What later snapshots tell
export { joinLater, type LaterFacts } from './join-later.ts';

// Objects of a store elsewhere
export type { BucketListOptions, BucketObject, BucketWriteOptions, ObjectBucket } from './objects/bucket.ts';
export { type BucketInitOptions, initBucket } from './objects/bucket-init/init-bucket.ts';
export type {
  BucketInitItem,
  BucketInitItemName,
  BucketInitOutcome,
  BucketInitReport,
  BucketPolicies,
  PolicyDocument,
  PolicyStatement,
} from './objects/bucket-init/init-report.ts';
export { keysOfDay, snapshotDays } from './objects/bucket-keys.ts';
export { type BucketStoreOptions, createBucketStore } from './objects/bucket-store.ts';
export { createDirectoryBucket } from './objects/directory-bucket.ts';
export { type IndexQuery, readIndex } from './objects/index-reader.ts';
export { encodeIndexRows, indexRowOf } from './objects/index-rows.ts';
export {
  createIndexWriter,
  type IndexWriter,
  type IndexWriterOptions,
  type IndexWriterStats,
} from './objects/index-writer.ts';
export { createMemoryBucket } from './objects/memory-bucket.ts';
export { rememberIndex } from './objects/remember-index.ts';
export { openBucket, type OpenBucketOptions } from './objects/open-bucket.ts';
export {
  type ReindexOptions,
  type ReindexProgress,
  type ReindexRange,
  type ReindexResult,
  reindexRange,
} from './objects/reindex.ts';
export { createS3Bucket } from './objects/s3-bucket.ts';
export type { S3BucketOptions, S3Checksum, S3Credentials } from './objects/s3-client.ts';

// Trace backends
export type {
  SourceOptions,
  SourceSpan,
  SpanAttribute,
  SpanQuery,
  SpanSearch,
  TraceSource,
} from './sources/trace-source.ts';
export { createJaegerSource } from './sources/jaeger-source.ts';
export { createLocalSource } from './sources/local-source.ts';
export { createSourceClient, type SourceAnswer, type SourceClient } from './sources/source-client.ts';
export { createTempoSource } from './sources/tempo-source.ts';
export { openTraceSource } from './sources/open-source.ts';
export { createSourceStore } from './sources/source-store.ts';

// Spans against objects
export { CANARY_NAME, ownCalls } from './canary.ts';
export { auditBucket } from './audit/audit.ts';
export type { AuditOptions } from './audit/audit-options.ts';
export { AUDIT_MARGIN_MS } from './audit/audit-range.ts';
export {
  AUDIT_FAULTS,
  AUDIT_VERDICTS,
  type AuditFinding,
  type AuditReport,
  type AuditVerdict,
} from './audit/report.ts';
