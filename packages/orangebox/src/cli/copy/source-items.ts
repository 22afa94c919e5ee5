/** What is to be copied, day by day of the calls' start. */
import { OrangeboxError, parseSnapshotKey, type Snapshot } from '@orangebox/schema';
import { createMemoryStore, keysOfDay, type ListFilter, type ObjectBucket, snapshotDays } from '@orangebox/store';
import type { CopyPlace } from './copy-place.ts';

/** A snapshot to copy. */
export interface CopyItem {
  key: string;
  /** `YYYYMMDD`; items come in the order of their days. */
  day: string;
  /** Of recordings: whether the program's own endpoint acknowledged it. */
  sent?: boolean;
  /** The snapshot, digest verified; undefined when the filter does not take it. */
  load(): Promise<Snapshot | undefined>;
}

/** The snapshots of a place that a filter takes. What has no bytes to copy fails when it is loaded. */
export function itemsOf(place: CopyPlace, filter: ListFilter): AsyncIterable<CopyItem> {
  return place.bucket === undefined ? ofRecordings(place, filter) : ofObjects(place, place.bucket, filter);
}

async function* ofRecordings({ store }: CopyPlace, filter: ListFilter): AsyncGenerator<CopyItem, void, undefined> {
  for await (const entry of store.list({ ...filter, order: 'oldest' })) {
    // A call that runs has no key yet, and of one without bodies nothing was promised.
    const { key } = entry;
    const day = key === undefined ? undefined : parseSnapshotKey(key)?.date;
    if (key !== undefined && day !== undefined) {
      yield { key, day, sent: entry.shipped === true, load: () => store.load(entry) };
    }
  }
}

/** By the names of the objects: an index may lack what the archiver did not write. */
async function* ofObjects(
  { store, location }: CopyPlace,
  bucket: ObjectBucket,
  filter: ListFilter,
): AsyncGenerator<CopyItem, void, undefined> {
  const wanted = filter.keys && new Set(filter.keys);
  for (const day of await snapshotDays(bucket, filter)) {
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

async function takes(filter: ListFilter, snapshot: Snapshot): Promise<boolean> {
  const { keys: _keys, traceId: _traceId, ...rest } = filter;
  if (Object.keys(rest).length === 0) return true;
  const alone = createMemoryStore();
  await alone.put(snapshot);
  for await (const _entry of alone.list(rest)) return true;
  return false;
}
