/**
 * Snapshots in a bucket: read by key from whatever objects a writer left, listed by the index objects, so that a list
 * opens none of them.
 */
import { INDEX_PREFIX, OrangeboxError, type Snapshot, SNAPSHOT_OBJECT_NAME, snapshotKey } from '@orangebox/schema';
import { type Candidate, collectSelected, selectEntries } from '../listing.ts';
import { mapInOrder } from '../map-in-order.ts';
import { normalKey } from '../safe-fs.ts';
import { REF_MIN_LENGTH } from '../short-refs.ts';
import { verifySnapshot } from '../snapshot-shape.ts';
import type { DeleteResult, ListFilter, SnapshotStore, StoredEntry, StoreProblem } from '../store.ts';
import type { ObjectBucket } from './bucket.ts';
import { bucketKeyObjects, keysOfTrace } from './bucket-keys.ts';
import { indexTerm } from './index-filter.ts';
import { type IndexQuery, readIndexObjects } from './index-reader.ts';
import { entryOfRow, indexRowOf } from './index-rows.ts';
import { createIndexWriter, type IndexWriter } from './index-writer.ts';
import { MinuteEntries, MINUTE_ENTRIES_MAX } from './minute-entries.ts';
import { readObjects } from './object-reader.ts';
import { encodePayload, payloadSizeBytes } from './payload.ts';

/** Opens the snapshots of a bucket as a store. Closing it closes the bucket too. */
export function createBucketStore(bucket: ObjectBucket, options: BucketStoreOptions = {}): SnapshotStore {
  return new BucketStore(bucket, options.minuteEntriesMax ?? MINUTE_ENTRIES_MAX);
}

/** Bounds of a bucket store. */
export interface BucketStoreOptions {
  /** Entries of one minute that a list without a limit gives at most (default 200,000). */
  minuteEntriesMax?: number;
}

/** Snapshots opened at a time where a list needs them. */
const CONCURRENCY = 8;

/** Digits of a short reference: no list knows all span ids of a bucket, and of a million two rarely share twelve. */
const REF_LENGTH = REF_MIN_LENGTH * 2;

/** Most problems that are remembered. */
const PROBLEMS_MAX = 200;

class BucketStore implements SnapshotStore {
  readonly kind = 'bucket';
  readonly location: string;
  readonly #bucket: ObjectBucket;
  readonly #minuteEntriesMax: number;
  readonly #problems: Map<string, StoreProblem> = new Map();
  /** Keys deleted here: index objects still have their rows. */
  readonly #deleted: Set<string> = new Set();
  #index: IndexWriter | undefined;

  constructor(bucket: ObjectBucket, minuteEntriesMax: number) {
    this.#bucket = bucket;
    this.#minuteEntriesMax = minuteEntriesMax;
    this.location = bucket.location;
  }

  async get(key: string): Promise<Snapshot | undefined> {
    const normal = normalKey(key);
    return normal === undefined ? undefined : readObjects(normal, bucketKeyObjects(this.#bucket, normal));
  }

  async load(entry: StoredEntry): Promise<Snapshot> {
    const snapshot = entry.key === undefined ? undefined : await this.get(entry.key);
    if (snapshot) return snapshot;
    throw new OrangeboxError('OBX_SNAPSHOT_LOST', `${this.location} has nothing under ${entry.key ?? 'no key'}`, {
      hint: 'it was deleted, or it never arrived: orangebox doctor compares spans with objects',
    });
  }

  async put(snapshot: Snapshot): Promise<string> {
    const verified = verifySnapshot(snapshot, 'the snapshot to keep');
    const key = snapshotKey(verified);
    const name = `${key}/${SNAPSHOT_OBJECT_NAME}`;
    const payload = await encodePayload(verified);
    const options = { contentType: 'application/gzip' };
    const outcome = await this.#bucket.write(name, payload, { ...options, onlyIfAbsent: true });
    if (outcome === 'exists' && !(await this.#isValid(key))) await this.#bucket.write(name, payload, options);
    this.#deleted.delete(key);
    this.#index ??= createIndexWriter(this.#bucket);
    this.#index.add(indexRowOf(verified, payloadSizeBytes(verified)));
    return key;
  }

  async #isValid(key: string): Promise<boolean> {
    try {
      return (await this.get(key)) !== undefined;
    } catch (error) {
      if (error instanceof OrangeboxError && error.code.startsWith('OBX_STORE_')) throw error;
      return false;
    }
  }

  async *list(filter: ListFilter = {}): AsyncGenerator<StoredEntry, void, undefined> {
    await this.#index?.flush();
    let left = filter.limit ?? Number.POSITIVE_INFINITY;
    if (left <= 0) return;
    for await (const entries of this.#groups(filter)) {
      const candidates = entries.map(candidateOf);
      const rest = { ...filter, limit: left };
      for await (const entry of selectEntries(candidates, rest, (found) => this.load(found))) {
        yield { ...entry, ref: entry.trace.spanId.slice(0, REF_LENGTH) };
        left -= 1;
      }
      if (left <= 0) return;
    }
  }

  /** Entries that may match: groups in the filter's order, each to be sorted. */
  async *#groups(filter: ListFilter): AsyncGenerator<StoredEntry[], void, undefined> {
    if (filter.keys) {
      yield await this.#open(filter.keys.flatMap((key) => normalKey(key) ?? []));
    } else if (filter.traceId !== undefined) {
      yield await this.#open(await keysOfTrace(this.#bucket, filter.traceId, filter));
    } else {
      yield* this.#minutes(filter);
    }
  }

  /** Entries of snapshots themselves: of few, this is surer than an index that may lag. */
  async #open(keys: readonly string[]): Promise<StoredEntry[]> {
    const entries: StoredEntry[] = [];
    const wanted = new Set(keys);
    for await (const entry of mapInOrder(wanted, CONCURRENCY, (key) => this.#entry(key))) {
      if (entry) entries.push(entry);
    }
    return entries;
  }

  async #entry(key: string): Promise<StoredEntry | undefined> {
    try {
      const snapshot = await this.get(key);
      return snapshot && entryOfRow(indexRowOf(snapshot, payloadSizeBytes(snapshot)), `${this.location}/${key}`);
    } catch (error) {
      if (!(error instanceof OrangeboxError) || error.code.startsWith('OBX_STORE_')) throw error;
      const { message, hint } = error;
      const code = error.code as `OBX_${string}`;
      this.#note({ code, message, location: `${this.location}/${key}`, ...(hint === undefined ? {} : { hint }) });
      return undefined;
    }
  }

  async *#minutes(filter: ListFilter): AsyncGenerator<StoredEntry[], void, undefined> {
    const { sinceUnixMs, untilUnixMs, order } = filter;
    if (sinceUnixMs === undefined) {
      throw new OrangeboxError('OBX_STORE_SINCE_REQUIRED', `${this.location} is searched by time only`, {
        hint: 'say how far back to look, for example with --since 2h',
      });
    }
    const sought = soughtBy(filter);
    const query = {
      sinceUnixMs,
      ...(untilUnixMs === undefined ? {} : { untilUnixMs }),
      ...sought,
      ...(order === undefined ? {} : { order }),
      onProblem: (problem: StoreProblem) => this.#note(problem),
    };
    let entries = new MinuteEntries(filter, this.#minuteEntriesMax);
    let current = '';
    for await (const { minute, rows } of readIndexObjects(this.#bucket, query)) {
      if (minute !== current) {
        yield this.#end(entries, current);
        entries = new MinuteEntries(filter, this.#minuteEntriesMax);
        current = minute;
      }
      if (entries.isCut) continue;
      for (const row of rows) {
        if (this.#deleted.has(row.key)) continue;
        if (!entries.add(entryOfRow(row, `${this.location}/${row.key}`))) break;
      }
    }
    yield this.#end(entries, current);
  }

  #end(entries: MinuteEntries, minute: string): StoredEntry[] {
    if (entries.isCut) {
      const most = this.#minuteEntriesMax;
      this.#note({
        code: 'OBX_INDEX_TOO_MANY',
        message: `the index has more than ${most} calls of one minute (${minuteWords(minute)}): the others are not shown`,
        hint: 'ask for fewer: -n (a number), --session, --tool or --scope',
        location: `${this.location}/${INDEX_PREFIX}${minute.slice(0, 8)}/${minute.slice(8)}`,
      });
    }
    return entries.values();
  }

  async delete(selection: string[] | ListFilter): Promise<DeleteResult> {
    const result: DeleteResult = { deleted: 0, kept: [], freedBytes: 0 };
    const keys = new Set<string>();
    // A named key is deleted even when what stands there cannot be read.
    if (Array.isArray(selection)) for (const key of selection) keys.add(normalKey(key) ?? '');
    else for (const entry of await collectSelected(this, selection)) keys.add(entry.key ?? '');
    keys.delete('');
    for (const key of keys) {
      const names: string[] = [];
      for await (const object of this.#bucket.list(`${key}/`)) {
        names.push(object.name);
        result.freedBytes += object.sizeBytes;
      }
      if (names.length === 0) continue;
      await this.#bucket.delete(names);
      this.#deleted.add(key);
      result.deleted += 1;
    }
    return result;
  }

  #note(problem: StoreProblem): void {
    if (this.#problems.size < PROBLEMS_MAX) this.#problems.set(problem.location, problem);
  }

  async problems(): Promise<StoreProblem[]> {
    return [...this.#problems.values()];
  }

  async close(): Promise<void> {
    try {
      await this.#index?.close();
    } finally {
      await this.#bucket.close();
    }
  }
}

/** `20261129` and `1405` as a time. */
function minuteWords(minute: string): string {
  return minute.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/, '$1-$2-$3 $4:$5 UTC');
}

function candidateOf(entry: StoredEntry): Candidate {
  return {
    startUnixNano: entry.time.startUnixNano,
    traceId: entry.trace.traceId,
    spanId: entry.trace.spanId,
    read: async () => entry,
  };
}

/** What stands in the row of every entry that a filter takes: the rarest that it names. */
function soughtBy({
  spanId,
  spanIdPrefix,
  sessionId,
  userId,
  tool,
  scope,
}: ListFilter): Pick<IndexQuery, 'needle' | 'term'> {
  const of = (needle: string, term: string | undefined): Pick<IndexQuery, 'needle' | 'term'> => ({
    needle: Buffer.from(needle),
    ...(term === undefined ? {} : { term }),
  });
  // Quotes and escapes as the writer of the row made them.
  const quoted = (text: string, term: string): Pick<IndexQuery, 'needle' | 'term'> => of(JSON.stringify(text), term);
  if (spanId !== undefined) return of(spanId, indexTerm.span(spanId));
  if (sessionId !== undefined) return quoted(sessionId, indexTerm.session(sessionId));
  if (spanIdPrefix !== undefined) return of(spanIdPrefix, indexTerm.spanPrefix(spanIdPrefix));
  if (userId !== undefined) return quoted(userId, indexTerm.user(userId));
  if (tool !== undefined) return quoted(tool, indexTerm.tool(tool));
  return scope === undefined ? {} : quoted(scope, indexTerm.scope(scope));
}
