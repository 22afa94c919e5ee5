/**
 * Makes the index of a span of time anew from the snapshots themselves. Archivers may go on writing meanwhile: new objects
 * have names of their own, and an old one is deleted only when nobody can still be writing it.
 */
import { INDEX_PREFIX, type IndexRow, OrangeboxError } from '@orangebox/schema';
import { unixMs } from '../filter.ts';
import { mapInOrder } from '../map-in-order.ts';
import { bucketKeyObjects, keysOfDay, snapshotDays } from './bucket-keys.ts';
import type { BucketObject, ObjectBucket } from './bucket.ts';
import { listIndexObjects } from './index-reader.ts';
import { indexRowOf } from './index-rows.ts';
import { newIndexWriterId } from './index-writer.ts';
import { MinuteSpool } from './minute-spool.ts';
import { readObjects } from './object-reader.ts';
import { payloadSizeBytes } from './payload.ts';

/** Which calls are indexed anew: those that started in it, widened to whole minutes. */
export interface ReindexRange {
  sinceUnixMs: number;
  untilUnixMs: number;
}

/** How far a reindex is. */
export interface ReindexProgress {
  /** Day that is being done, `YYYYMMDD`. */
  day: string;
  /** Snapshots that were opened. */
  opened: number;
  /** Rows that were made of them: those of the range. */
  rows: number;
  /** Keys under which no snapshot could be read. */
  unreadable: number;
  objectsWritten: number;
  /** Index objects that the new ones replace. */
  objectsDeleted: number;
}

/** What a reindex did. */
export interface ReindexResult extends Omit<ReindexProgress, 'day'> {
  days: number;
  /** The first of the keys that could not be read, and why. */
  faults: { key: string; code: string }[];
}

/** How a reindex runs. */
export interface ReindexOptions {
  /** Told after every hundred snapshots and at the end of a day. */
  onProgress?: (progress: ReindexProgress) => void;
  signal?: AbortSignal;
}

/** Snapshots opened at a time. */
const CONCURRENCY = 8;

/** An index object that was last written this long ago is not written again: writers close theirs after two minutes. */
const SETTLED_MS = 10 * 60_000;

const MINUTE_MS = 60_000;

const FAULTS_MAX = 100;

/**
 * Makes index objects anew. Running it twice does no harm; a failure leaves the old index as it was, beside what is new.
 *
 * @throws OrangeboxError `OBX_STORE_*`.
 */
export async function reindexRange(
  bucket: ObjectBucket,
  range: ReindexRange,
  options: ReindexOptions = {},
): Promise<ReindexResult> {
  const sinceUnixMs = Math.floor(Math.max(0, range.sinceUnixMs) / MINUTE_MS) * MINUTE_MS;
  const untilUnixMs = Math.ceil(range.untilUnixMs / MINUTE_MS) * MINUTE_MS;
  const whole = { sinceUnixMs, untilUnixMs };
  const result: ReindexResult = {
    days: 0,
    opened: 0,
    rows: 0,
    unreadable: 0,
    objectsWritten: 0,
    objectsDeleted: 0,
    faults: [],
  };
  for (const day of await daysOf(bucket, whole)) {
    options.signal?.throwIfAborted();
    await reindexDay(bucket, day, whole, result, options);
    result.days += 1;
  }
  return result;
}

/** Days with snapshots, and days of which only an index is left. */
async function daysOf(bucket: ObjectBucket, range: ReindexRange): Promise<string[]> {
  const days = new Set(await snapshotDays(bucket, range));
  // The last minute itself is not in the range.
  const last = { ...range, untilUnixMs: range.untilUnixMs - 1 };
  for await (const { name } of listIndexObjects(bucket, last)) days.add(name.slice(INDEX_PREFIX.length).slice(0, 8));
  return [...days].sort();
}

async function reindexDay(
  bucket: ObjectBucket,
  day: string,
  range: ReindexRange,
  result: ReindexResult,
  options: ReindexOptions,
): Promise<void> {
  // Before the snapshots are listed: what these objects name was stored before, so the listing has it too.
  const old = await settledObjects(bucket, day, range);
  const spool = new MinuteSpool(bucket, newIndexWriterId());
  const report = (): void => {
    const { opened, rows, unreadable, objectsDeleted } = result;
    const objectsWritten = result.objectsWritten + spool.objectsWritten;
    options.onProgress?.({ day, opened, rows, unreadable, objectsWritten, objectsDeleted });
  };
  const open = (key: string): Promise<OpenedKey> => openKey(bucket, key);
  for await (const { key, row, code } of mapInOrder(keysOfDay(bucket, day), CONCURRENCY, open)) {
    options.signal?.throwIfAborted();
    if (code !== undefined) {
      result.unreadable += 1;
      if (result.faults.length < FAULTS_MAX) result.faults.push({ key, code });
    } else if (row) {
      result.opened += 1;
      const start = unixMs(row.time.startUnixNano);
      if (start >= range.sinceUnixMs && start < range.untilUnixMs) {
        result.rows += 1;
        await spool.add(row);
      }
    }
    if ((result.opened + result.unreadable) % 100 === 0) report();
  }
  await spool.flush();
  const replaced = await stillAsListed(bucket, old);
  await bucket.delete(replaced);
  result.objectsDeleted += replaced.length;
  report();
  result.objectsWritten += spool.objectsWritten;
}

/** Index objects of a day's minutes in the range that no writer can still be at. */
async function settledObjects(bucket: ObjectBucket, day: string, range: ReindexRange): Promise<BucketObject[]> {
  const dayStart = Date.UTC(+day.slice(0, 4), +day.slice(4, 6) - 1, +day.slice(6, 8));
  const query = {
    sinceUnixMs: Math.max(range.sinceUnixMs, dayStart),
    untilUnixMs: Math.min(range.untilUnixMs, dayStart + 24 * 60 * MINUTE_MS) - 1,
  };
  const settledBefore = Date.now() - SETTLED_MS;
  const found: BucketObject[] = [];
  for await (const object of listIndexObjects(bucket, query)) {
    if (object.modifiedUnixMs < settledBefore) found.push(object);
  }
  return found;
}

/** Names of the objects that are the same as when they were listed: a writer that was held up may have come back to one. */
async function stillAsListed(bucket: ObjectBucket, listed: readonly BucketObject[]): Promise<string[]> {
  const names: string[] = [];
  const check = async (object: BucketObject): Promise<string | undefined> => {
    const now = await bucket.stat(object.name);
    // HEAD tells the time in whole seconds where a listing may tell more.
    const isSame = now?.sizeBytes === object.sizeBytes && Math.abs(now.modifiedUnixMs - object.modifiedUnixMs) < 1_000;
    return isSame ? object.name : undefined;
  };
  for await (const name of mapInOrder(listed, CONCURRENCY, check)) if (name !== undefined) names.push(name);
  return names;
}

interface OpenedKey {
  key: string;
  row?: IndexRow;
  /** Why there is no row. */
  code?: string;
}

async function openKey(bucket: ObjectBucket, key: string): Promise<OpenedKey> {
  try {
    const snapshot = await readObjects(key, bucketKeyObjects(bucket, key));
    // Deleted since it was listed, or nothing that a reader takes.
    return snapshot ? { key, row: indexRowOf(snapshot, payloadSizeBytes(snapshot)) } : { key };
  } catch (error) {
    if (!(error instanceof OrangeboxError) || error.code.startsWith('OBX_STORE_')) throw error;
    return { key, code: error.code };
  }
}
