/** Keys, paths and part names of stored snapshots, defined once for every writer and reader. */

/** Prefix of all snapshots of this version, and the beginning of their keys. */
export const SNAPSHOT_PREFIX = 'v1/';

/** Pattern of a snapshot key: `v1/<YYYYMMDD>/<traceId>/<spanId>/<first 16 hex of digest>`. */
export const SNAPSHOT_KEY_PATTERN: RegExp = /^v1\/[0-9]{8}\/[0-9a-f]{32}\/[0-9a-f]{16}\/[0-9a-f]{16}$/;

/** The parts of a snapshot key. */
export interface SnapshotKeyParts {
  /** Date of the call's start in UTC, `YYYYMMDD`. */
  date: string;
  traceId: string;
  spanId: string;
  /** First 16 hex digits of the digest. */
  digest16: string;
}

/** Builds the key of a snapshot. */
export function snapshotKey(snapshot: {
  time: { startUnixNano: string };
  trace: { traceId: string; spanId: string };
  digest: string;
}): string {
  const { traceId, spanId } = snapshot.trace;
  const date = dateOf(snapshot.time.startUnixNano);
  return formatSnapshotKey({ date, traceId, spanId, digest16: snapshot.digest.slice(0, 16) });
}

/** The last day that was asked for: a process asks for the same one again and again. */
const known = { day: Number.NaN, date: '' };
const DAY_MS = 86_400_000;

/** `YYYYMMDD` in UTC. */
function dateOf(unixNano: string): string {
  // Six digits less are milliseconds; what is shorter, or no plain number, is worked out in full.
  const ms = /^\d{7,22}$/.test(unixNano) ? Number(unixNano.slice(0, -6)) : Number(BigInt(unixNano) / 1_000_000n);
  const day = Math.floor(ms / DAY_MS);
  if (day !== known.day) {
    known.date = new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');
    known.day = day;
  }
  return known.date;
}

/** Puts a key together. */
export function formatSnapshotKey({ date, traceId, spanId, digest16 }: SnapshotKeyParts): string {
  return `${SNAPSHOT_PREFIX}${date}/${traceId}/${spanId}/${digest16}`;
}

/** Takes a key apart; undefined when it is not one. A doubled slash is the same key. */
export function parseSnapshotKey(text: string): SnapshotKeyParts | undefined {
  const key = text.replace(/\/{2,}/g, '/').replace(/^\/|\/$/g, '');
  if (!SNAPSHOT_KEY_PATTERN.test(key)) return undefined;
  const [, date = '', traceId = '', spanId = '', digest16 = ''] = key.split('/');
  return { date, traceId, spanId, digest16 };
}

/** Name of the object that holds a whole snapshot under its key. */
export const SNAPSHOT_OBJECT_NAME = 'snapshot.json.gz';

/** Name of one part: `part-<h>-0000-of-0003`, `<h>` the first 16 hex of the whole gzip's SHA-256. */
export function partObjectName(payloadSha256: string, index: number, count: number): string {
  const pad = (n: number): string => String(n).padStart(4, '0');
  return `part-${payloadSha256.slice(0, 16)}-${pad(index)}-of-${pad(count)}`;
}

/** Pattern of {@link partObjectName}. */
export const PART_OBJECT_PATTERN: RegExp = /^part-([0-9a-f]{16})-([0-9]{4})-of-([0-9]{4})$/;

/** Extension of objects that hold OTLP protobuf envelopes. */
export const ENVELOPE_EXTENSION = '.binpb';

/** Directory of recordings in the working directory, where `ORANGEBOX_DIR` names no other. */
export const DEFAULT_DIRECTORY = '.orangebox';

/** Directory of segments under `ORANGEBOX_DIR`; below it a folder per UTC date `YYYY-MM-DD`. */
export const SEGMENTS_DIRECTORY = 'segments';

/** Directory of materialised or fetched snapshots under `ORANGEBOX_DIR`. */
export const OBJECTS_DIRECTORY = 'objects';

/** Extension of segment files. */
export const SEGMENT_EXTENSION = '.obxs';

/** Name of a segment file. One series (all but `n`) per thread of a process. */
export function segmentFileName(id: SegmentFileId): string {
  return `${id.host}-${id.pid}-${id.threadId}-${id.startUnixMs}-${id.n}${SEGMENT_EXTENSION}`;
}

/** Host part of a segment's name, from the machine's host name. */
export function segmentHost(hostname: string): string {
  return hostname.replace(/[^A-Za-z0-9_.]/g, '_').slice(0, 64) || 'localhost';
}

/** What a segment's name tells. `host` has only `[A-Za-z0-9_.]`. */
export interface SegmentFileId {
  host: string;
  pid: number;
  threadId: number;
  startUnixMs: number;
  /** Number of the file in its series, from 0. */
  n: number;
}

const SEGMENT_FILE_PATTERN = /^([A-Za-z0-9_.]+)-(\d+)-(\d+)-(\d+)-(\d+)\.obxs$/;

/** Parses {@link segmentFileName}; undefined when the name is not one. */
export function parseSegmentFileName(name: string): SegmentFileId | undefined {
  const m = SEGMENT_FILE_PATTERN.exec(name);
  if (!m) return undefined;
  return {
    host: m[1] ?? '',
    pid: Number(m[2]),
    threadId: Number(m[3]),
    startUnixMs: Number(m[4]),
    n: Number(m[5]),
  };
}
