/** Snapshot keys in a bucket: the objects under one, and those of a trace. */
import { parseSnapshotKey, SNAPSHOT_PREFIX } from '@orangebox/schema';
import { mapInOrder } from '../map-in-order.ts';
import { dayMayMatch } from '../filter.ts';
import type { ListFilter } from '../store.ts';
import type { ObjectBucket } from './bucket.ts';
import { isObjectName } from './object-name.ts';
import type { KeyObjects } from './object-reader.ts';

/** Most objects under one key that are looked at: a thousand parts and some of other writers. */
const OBJECTS_MAX = 5_000;

/** Days asked for at a time. */
const CONCURRENCY = 16;

/** The objects under a key, for `readObjects`. */
export function bucketKeyObjects(bucket: ObjectBucket, key: string): KeyObjects {
  return {
    nameOf: (object) => `${bucket.location}/${key}/${object}`,
    list: async () => {
      const names: string[] = [];
      for await (const { name } of bucket.list(`${key}/`)) {
        const object = name.slice(key.length + 1);
        if (isObjectName(object) && !object.includes('/')) names.push(object);
        if (names.length >= OBJECTS_MAX) break;
      }
      return names;
    },
    read: (object, maxBytes) => bucket.read(`${key}/${object}`, maxBytes),
  };
}

/** The key that an object's name stands under; undefined where it stands under none. */
export function keyOfObject(name: string): string | undefined {
  const key = name.split('/', 5).join('/');
  return parseSnapshotKey(key) && name.length > key.length + 1 ? key : undefined;
}

/** Days (`YYYYMMDD`) of which the bucket has snapshots and that a filter's times can meet. */
export async function snapshotDays(
  bucket: ObjectBucket,
  filter: Pick<ListFilter, 'sinceUnixMs' | 'untilUnixMs'>,
): Promise<string[]> {
  const days = (await bucket.prefixes(SNAPSHOT_PREFIX)).map((prefix) => prefix.slice(SNAPSHOT_PREFIX.length, -1));
  return days.filter((day) => /^\d{8}$/.test(day) && dayMayMatch(day, filter)).sort();
}

/** Keys of the snapshots of a day (`YYYYMMDD`), or of a trace on that day, each once and in order. */
export async function* keysOfDay(
  bucket: ObjectBucket,
  day: string,
  traceId?: string,
): AsyncGenerator<string, void, undefined> {
  let last = '';
  const folder = traceId === undefined ? day : `${day}/${traceId}`;
  for await (const { name } of bucket.list(`${SNAPSHOT_PREFIX}${folder}/`)) {
    const key = keyOfObject(name);
    // The objects of a key follow one another.
    if (key === undefined || key === last) continue;
    last = key;
    yield key;
  }
}

/** Keys of the snapshots of a trace: one request per day of the bucket. */
export async function keysOfTrace(
  bucket: ObjectBucket,
  traceId: string,
  filter: Pick<ListFilter, 'sinceUnixMs' | 'untilUnixMs'>,
): Promise<string[]> {
  if (!/^[0-9a-f]{32}$/.test(traceId)) return [];
  const found: string[] = [];
  const keysOn = async (day: string): Promise<string[]> => {
    const keys: string[] = [];
    for await (const key of keysOfDay(bucket, day, traceId)) keys.push(key);
    return keys;
  };
  for await (const keys of mapInOrder(await snapshotDays(bucket, filter), CONCURRENCY, keysOn)) {
    // One by one: as arguments of one call there could be more than a stack holds.
    for (const key of keys) found.push(key);
  }
  return found;
}
