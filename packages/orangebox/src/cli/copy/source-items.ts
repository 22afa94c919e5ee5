/** What is to be copied, day by day of the calls' start. */
import { OrangeboxError, parseSnapshotKey, type Snapshot } from '@orangebox/schema';
import { createMemoryStore, type ListFilter, type ObjectBucket } from '@orangebox/store';
import type { CopyPlace } from './copy-place.ts';

/** A snapshot to copy. */
export interface CopyItem {
  key: string;
  /** `YYYYMMDD`; items come in the order of their days. */
  day: string;
  /** The snapshot, digest verified; undefined when the filter does not take it. */
  load(): Promise<Snapshot | undefined>;
}

const DAY_MS = 86_400_000;

/** The snapshots of a place that a filter takes. What has no bytes to copy fails when it is loaded. */
export function itemsOf(place: CopyPlace, filter: ListFilter): AsyncIterable<CopyItem> {
  return place.bucket === undefined ? ofRecordings(place, filter) : ofObjects(place, place.bucket, filter);
}

async function* ofRecordings({ store }: CopyPlace, filter: ListFilter): AsyncGenerator<CopyItem, void, undefined> {
  for await (const entry of store.list({ ...filter, order: 'oldest' })) {
    // A call that runs has no key yet, and of one without bodies nothing was promised.
    const { key } = entry;
    const day = key === undefined ? undefined : parseSnapshotKey(key)?.date;
    if (key !== undefined && day !== undefined) yield { key, day, load: () => store.load(entry) };
  }
}

/** By the names of the objects: an index may lack what the archiver did not write. */
async function* ofObjects(
  { store, location }: CopyPlace,
  bucket: ObjectBucket,
  filter: ListFilter,
): AsyncGenerator<CopyItem, void, undefined> {
  const days = (await bucket.prefixes('v1/')).map((prefix) => prefix.slice(3, -1)).sort();
  const wanted = filter.keys && new Set(filter.keys);
  for (const day of days) {
    if (!/^\d{8}$/.test(day) || !mayMatch(day, filter)) continue;
    for await (const key of keysOfDay(bucket, day, filter.traceId)) {
      if (wanted !== undefined && !wanted.has(key)) continue;
      const load = async (): Promise<Snapshot | undefined> => {
        const snapshot = await store.get(key);
        if (snapshot !== undefined) return (await takes(filter, snapshot)) ? snapshot : undefined;
        throw new OrangeboxError('OBX_SNAPSHOT_LOST', `${location} has nothing under ${key} any more`, {
          hint: 'it was deleted since it was listed',
        });
      };
      yield { key, day, load };
    }
  }
}

/** Keys of a day, each once; objects of one key stand together in the order of names. */
export async function* keysOfDay(
  bucket: ObjectBucket,
  day: string,
  traceId?: string,
): AsyncGenerator<string, void, undefined> {
  let last = '';
  const prefix = `v1/${day}/${traceId === undefined ? '' : `${traceId}/`}`;
  for await (const { name } of bucket.list(prefix)) {
    const key = name.split('/').slice(0, 5).join('/');
    if (key === last || name.length === key.length || parseSnapshotKey(key) === undefined) continue;
    last = key;
    yield key;
  }
}

function mayMatch(day: string, { sinceUnixMs, untilUnixMs }: ListFilter): boolean {
  const startMs = Date.UTC(Number(day.slice(0, 4)), Number(day.slice(4, 6)) - 1, Number(day.slice(6, 8)));
  if (sinceUnixMs !== undefined && startMs + DAY_MS <= sinceUnixMs) return false;
  return untilUnixMs === undefined || startMs < untilUnixMs;
}

async function takes(filter: ListFilter, snapshot: Snapshot): Promise<boolean> {
  const { keys: _keys, traceId: _traceId, ...rest } = filter;
  if (Object.keys(rest).length === 0) return true;
  const alone = createMemoryStore();
  await alone.put(snapshot);
  for await (const _entry of alone.list(rest)) return true;
  return false;
}
