/** What an audit is asked for. */
import type { IndexRow } from '@orangebox/schema';

/** Options of `auditBucket`. */
export interface AuditOptions {
  /** Calls that started at or after this time … */
  sinceUnixMs: number;
  /** … and before this one. */
  untilUnixMs: number;
  /** What counts as now. */
  nowMs: number;
  /** What ended less than this before now may still be on its way. */
  graceMs: number;
  /** Traces are sampled after the fact: an object without a span says nothing. */
  tailSampled?: boolean;
  /** Only look whether objects are there, without opening them. */
  quick?: boolean;
  /** Rows of the bucket's index objects, of the range and `AUDIT_MARGIN_MS` around it. */
  indexRows?: AsyncIterable<IndexRow>;
  /** Objects opened at once (default 8). */
  concurrency?: number;
  /** Traces looked up by id at most (default 1,000). */
  traceLookups?: number;
  /** Findings listed per verdict at most (default 10,000); all are counted. */
  findingsMax?: number;
  /** Told how many keys have been looked at. */
  onProgress?: (keys: number) => void;
}
