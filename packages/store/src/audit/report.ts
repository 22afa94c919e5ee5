/** What a comparison of a trace backend's spans with a bucket's objects gives. */

/**
 * What became of a promised key, or what an object without a promise is.
 *
 * - `late`: not there, but its span ended a moment ago
 * - `lost`: not there
 * - `corrupt`: there, and does not verify
 * - `incomplete`: some of its parts are there
 * - `orphaned`: an object whose span the backend does not have
 * - `unsampled`: an object whose span a head sampler dropped (`trace.sampled` is false)
 * - `unsampled_or_orphaned`: an object without a span where a tail sampler may have dropped it
 * - `span_pending`: an object without a span, of a call that ended a moment ago
 * - `unchecked`: an object whose span could not be looked for, since the backend's answers were cut
 * - `mixed`: an object under one key that carries another key's payload
 * - `foreign`: an object among the snapshots that stands under no key
 * - `invalid_key`: a span whose key is none, or that of another call
 */
export type AuditVerdict =
  | 'late'
  | 'lost'
  | 'corrupt'
  | 'incomplete'
  | 'orphaned'
  | 'unsampled'
  | 'unsampled_or_orphaned'
  | 'span_pending'
  | 'unchecked'
  | 'mixed'
  | 'foreign'
  | 'invalid_key';

/** All verdicts, in the order in which a report lists them. */
export const AUDIT_VERDICTS: readonly AuditVerdict[] = [
  'lost',
  'corrupt',
  'incomplete',
  'mixed',
  'invalid_key',
  'orphaned',
  'foreign',
  'unsampled_or_orphaned',
  'unsampled',
  'late',
  'span_pending',
  'unchecked',
];

/** One key or object that is not simply stored. */
export interface AuditFinding {
  verdict: AuditVerdict;
  /** The key; of `foreign` and `invalid_key` what stands in its place. */
  key: string;
  traceId?: string;
  spanId?: string;
  /** Name of the object at fault, where it is one. */
  object?: string;
  /** Code of the error that reading it gave. */
  code?: string;
  /** What is known, in words. */
  reason: string;
  /** Start of the call. */
  startUnixNano?: string;
  serviceName?: string;
}

/** Result of {@link auditBucket}. */
export interface AuditReport {
  /** Calls that started in `[sinceUnixMs, untilUnixMs)` were compared. */
  sinceUnixMs: number;
  untilUnixMs: number;
  /** Where the spans came from, and the objects. */
  source: string;
  store: string;
  /** False when objects were only looked for, not opened. */
  verified: boolean;
  /** Keys that spans of the range promise. */
  promised: number;
  /** Promised keys that are there and verify. */
  stored: number;
  /** Keys of the range with objects. */
  objects: number;
  /** How often each verdict was given, also of findings that are not listed. */
  counts: Record<AuditVerdict, number>;
  /** The first of them, by verdict and key. */
  findings: AuditFinding[];
  /** The backend's limits cut a search even of the shortest time: spans are missing in this comparison. */
  truncated: boolean;
  /** So many objects have no span that a tail sampler is the likelier reason. */
  looksTailSampled: boolean;
  /** Stored keys that no index object names. */
  notIndexed: { count: number; keys: string[] };
  /** Spans of test calls (`orangebox doctor --canary`), left out of all else. */
  canaries: number;
  /** What the archiver could not verify, by its reason, of the days of the range. */
  quarantine: { reason: string; count: number }[];
}

/** Verdicts that say that something is wrong; the others have an ordinary explanation. */
export const AUDIT_FAULTS: ReadonlySet<AuditVerdict> = new Set<AuditVerdict>([
  'lost',
  'corrupt',
  'incomplete',
  'mixed',
  'invalid_key',
  'orphaned',
  'foreign',
]);
