/**
 * Index objects: what a list shows of the snapshots of one minute, so that a bucket is searched without opening them.
 * Derived: `orangebox archive --reindex` makes them anew from the snapshots. Beside `v1/` under the same base:
 * `index/v1/<YYYYMMDD>/<HHMM>-<writer>-<generation>.jsonl.gz`, date and time those of the calls' start in UTC. Each line
 * of the gzip is one {@link IndexRow}; a key may stand in several objects, and any of its rows counts.
 */
import type { CallSummary } from './segment.ts';
import type {
  Chain,
  Fidelity,
  ScopeFrame,
  SessionRef,
  SnapshotKind,
  TimeSpan,
  ToolExecution,
  TraceRef,
} from './snapshot.ts';

/** Prefix of all index objects of this version. */
export const INDEX_PREFIX = 'index/v1/';

/** Prefix of what an archiver was sent and could not verify. */
export const QUARANTINE_PREFIX = 'quarantine/v1/';

/** One snapshot in an index object. */
export interface IndexRow {
  key: string;
  kind: SnapshotKind;
  trace: TraceRef;
  session?: SessionRef;
  scope: ScopeFrame[];
  time: TimeSpan;
  summary?: CallSummary;
  tool?: Pick<ToolExecution, 'name' | 'callId' | 'basis' | 'askedBy'> & { failed: boolean };
  error?: { type: string; message: string };
  fidelity: Fidelity;
  /** Bytes of the snapshot's JSON. */
  sizeBytes: number;
  digest: string;
  chain?: Chain;
  attemptSpanIds?: string[];
  process: { pid: number; threadId: number; host: string; serviceName: string };
  request?: { method: string; url: string };
}

/** The parts of an index object's name. */
export interface IndexObjectId {
  /** Date of the calls' start in UTC, `YYYYMMDD`. */
  date: string;
  /** Minute of the calls' start in UTC, `HHMM`. */
  minute: string;
  /** Who wrote it: `[0-9a-z]+`, unique to a process. */
  writer: string;
  /** Number of the writer's object for this minute, from 0. */
  generation: number;
}

const INDEX_OBJECT_PATTERN = /^index\/v1\/([0-9]{8})\/([0-9]{4})-([0-9a-z]{1,32})-([0-9]{1,6})\.jsonl\.gz$/;

/** Name of an index object. */
export function indexObjectName(id: IndexObjectId): string {
  return `${INDEX_PREFIX}${id.date}/${id.minute}-${id.writer}-${id.generation}.jsonl.gz`;
}

/** Parses {@link indexObjectName}; undefined when the name is not one. */
export function parseIndexObjectName(name: string): IndexObjectId | undefined {
  const m = INDEX_OBJECT_PATTERN.exec(name);
  if (!m) return undefined;
  return { date: m[1] ?? '', minute: m[2] ?? '', writer: m[3] ?? '', generation: Number(m[4]) };
}

/** Date and minute of a Unix time in milliseconds, as index objects are named. */
export function indexMinute(unixMs: number): Pick<IndexObjectId, 'date' | 'minute'> {
  const iso = new Date(unixMs).toISOString();
  return { date: iso.slice(0, 10).replaceAll('-', ''), minute: iso.slice(11, 13) + iso.slice(14, 16) };
}
