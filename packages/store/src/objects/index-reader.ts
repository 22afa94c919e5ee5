/** Reads index objects of a span of time, in order of their minutes, with several requests under way. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { parseIndexRow } from '@orangebox/codec';
import { INDEX_PREFIX, indexMinute, type IndexRow, OrangeboxError, parseIndexObjectName } from '@orangebox/schema';
import { unixMs } from '../filter.ts';
import { mapInOrder } from '../map-in-order.ts';
import type { StoreProblem } from '../store.ts';
import type { BucketObject, ObjectBucket } from './bucket.ts';
import { filterReach, mayHold } from './index-filter.ts';

const gunzipAsync = promisify(gunzip);

/** Largest index object, packed and unpacked: what a writer makes is far smaller. */
const INDEX_OBJECT_MAX_BYTES = 32 * 1024 * 1024;

/** Objects read at a time. */
const CONCURRENCY = 16;

/** Objects unpacked at a time: as many as the platform has threads for that. */
const UNPACK_CONCURRENCY = 4;

/** Objects of which the first bytes are read at a time: how long that takes is the way there and back. */
const START_CONCURRENCY = 48;

/** Which rows {@link readIndex} gives. */
export interface IndexQuery {
  /** Calls that started at or after this Unix time in milliseconds. */
  sinceUnixMs: number;
  /** Calls that started before this Unix time in milliseconds. */
  untilUnixMs?: number;
  /** Only lines that hold these bytes; others are not even parsed. */
  needle?: Uint8Array;
  /** Only objects that may hold this term, see `indexTerm`; of others not more than the first bytes are read. */
  term?: string;
  /** Order of the minutes; rows of one minute come as they stand. `newest` by default. */
  order?: 'newest' | 'oldest';
  /** Told of objects that cannot be read; the others are. */
  onProblem?: (problem: StoreProblem) => void;
}

/** Rows of index objects. A key may come several times. */
export async function* readIndex(bucket: ObjectBucket, query: IndexQuery): AsyncGenerator<IndexRow, void, undefined> {
  for await (const { rows } of readIndexObjects(bucket, query)) yield* rows;
}

/** What one index object has for a query. */
export interface IndexObjectRows {
  /** Date and minute, as text that sorts. */
  minute: string;
  /** Parsed as they are taken, once: an object may have far more than anybody wants. */
  rows: Iterable<IndexRow>;
}

/** As {@link readIndex}, object by object; those of one minute come one after the other. */
export async function* readIndexObjects(
  bucket: ObjectBucket,
  query: IndexQuery,
): AsyncGenerator<IndexObjectRows, void, undefined> {
  const objects = listIndexObjects(bucket, query);
  const read = async (object: BucketObject): Promise<Packed> => {
    const { name } = object;
    try {
      // Without the term, or deleted since it was listed: then an index that was made anew holds its rows.
      return { name, bytes: await readIfMayHold(bucket, object, query.term) };
    } catch (error) {
      if (error instanceof OrangeboxError && error.code.startsWith('OBX_STORE_')) throw error;
      query.onProblem?.(damaged(bucket, name, 'cannot be read'));
      return { name, bytes: undefined };
    }
  };
  const unpacked = async ({ name, bytes }: Packed): Promise<{ name: string; lines: Buffer | undefined }> => ({
    name,
    lines: bytes && (await linesIn(bucket, name, bytes, query)),
  });
  const concurrency = query.term === undefined ? CONCURRENCY : START_CONCURRENCY;
  // What is read ahead is packed: of what it unpacks to, which may be a hundred times as much, there are few.
  const packed = mapInOrder(objects, concurrency, read);
  for await (const { name, lines } of mapInOrder(packed, UNPACK_CONCURRENCY, unpacked)) {
    if (lines) yield { minute: minuteOf(name), rows: rowsOf(bucket, name, lines, query) };
  }
}

/** The bytes of an index object; undefined where it has nothing for the query. */
interface Packed {
  name: string;
  bytes: Uint8Array | undefined;
}

/** The index objects that can hold rows of a query, a day at a time. */
export async function* listIndexObjects(
  bucket: ObjectBucket,
  query: Pick<IndexQuery, 'sinceUnixMs' | 'untilUnixMs' | 'order'>,
): AsyncGenerator<BucketObject, void, undefined> {
  const first = minuteText(query.sinceUnixMs);
  const last = query.untilUnixMs === undefined ? undefined : minuteText(query.untilUnixMs);
  const days = (await bucket.prefixes(INDEX_PREFIX)).map((prefix) => prefix.slice(INDEX_PREFIX.length, -1)).sort();
  if (query.order !== 'oldest') days.reverse();
  for (const day of days) {
    if (!/^\d{8}$/.test(day) || day < first.slice(0, 8) || (last !== undefined && day > last.slice(0, 8))) continue;
    const prefix = `${INDEX_PREFIX}${day}/`;
    const startAfter = day === first.slice(0, 8) ? { startAfter: prefix + first.slice(8) } : {};
    const found: BucketObject[] = [];
    for await (const object of bucket.list(prefix, startAfter)) {
      const minute = minuteOf(object.name);
      if (minute === '' || minute < first) continue;
      if (last !== undefined && minute > last) break;
      found.push(object);
    }
    if (query.order !== 'oldest') found.reverse();
    yield* found;
  }
}

/** Date and minute of an index object's name, as text that sorts; empty where it is none. */
function minuteOf(name: string): string {
  const id = parseIndexObjectName(name);
  return id ? id.date + id.minute : '';
}

function minuteText(ms: number): string {
  // Years of four digits only: a name has no others.
  const { date, minute } = indexMinute(Math.min(Math.max(ms, 0), 253_402_300_799_000));
  return date + minute;
}

/** The lines of an object; undefined when it cannot be unpacked. */
async function linesIn(
  bucket: ObjectBucket,
  name: string,
  bytes: Uint8Array,
  query: IndexQuery,
): Promise<Buffer | undefined> {
  try {
    return await unpack(bytes);
  } catch {
    query.onProblem?.(damaged(bucket, name, 'cannot be unpacked'));
    return undefined;
  }
}

function* rowsOf(
  bucket: ObjectBucket,
  name: string,
  lines: Buffer,
  query: IndexQuery,
): Generator<IndexRow, void, undefined> {
  let wrong = 0;
  try {
    for (const line of linesOf(lines, query.needle)) {
      const row = parseIndexRow(line);
      if (!row) wrong += 1;
      else if (isWithin(row, query)) yield row;
    }
  } finally {
    if (wrong > 0)
      query.onProblem?.(damaged(bucket, name, `has ${wrong} line${wrong === 1 ? '' : 's'} that are no rows`));
  }
}

/** The bytes of an object, unless its filter says that the term is not in it. */
async function readIfMayHold(
  bucket: ObjectBucket,
  { name, sizeBytes }: BucketObject,
  term: string | undefined,
): Promise<Uint8Array | undefined> {
  const reach = filterReach(sizeBytes);
  if (term !== undefined && reach < sizeBytes && bucket.readStart) {
    const start = await bucket.readStart(name, reach);
    if (!start || !mayHold(start, term)) return undefined;
  }
  return bucket.read(name, INDEX_OBJECT_MAX_BYTES);
}

/** Unpacks on the thread pool of the platform, so that several objects take several cores. */
async function unpack(bytes: Uint8Array): Promise<Buffer> {
  return gunzipAsync(bytes, { maxOutputLength: INDEX_OBJECT_MAX_BYTES });
}

/** Lines that hold the needle. It is looked for in all bytes at once, which takes a fraction of parsing them. */
function* linesOf(bytes: Buffer, needle: Uint8Array | undefined): Generator<string, void, undefined> {
  const NEWLINE = 10;
  for (let at = 0; at < bytes.length; ) {
    const found = needle === undefined ? at : bytes.indexOf(needle, at);
    if (found < 0) return;
    const start = needle === undefined ? at : bytes.lastIndexOf(NEWLINE, found) + 1;
    const newline = bytes.indexOf(NEWLINE, found);
    const end = newline < 0 ? bytes.length : newline;
    if (end > start) yield bytes.toString('utf8', start, end);
    at = end + 1;
  }
}

function isWithin(row: IndexRow, query: IndexQuery): boolean {
  const start = unixMs(row.time.startUnixNano);
  return start >= query.sinceUnixMs && (query.untilUnixMs === undefined || start < query.untilUnixMs);
}

function damaged(bucket: ObjectBucket, name: string, what: string): StoreProblem {
  return {
    code: 'OBX_INDEX_DAMAGED',
    message: `the index object ${name} ${what}; the calls of its minute may be missing from lists`,
    hint: 'make it anew with: orangebox archive --reindex --since 1d',
    location: `${bucket.location}/${name}`,
  };
}
