/** The objects of a day, gathered by the key they stand under. */
import { parseSnapshotKey, SNAPSHOT_PREFIX } from '@orangebox/schema';
import type { BucketObject, ObjectBucket } from '../objects/bucket.ts';
import { normalKey } from '../safe-fs.ts';

/** All objects under one key. */
export interface KeyGroup {
  key: string;
  /** Names below the base, as listed. */
  objects: BucketObject[];
  /** When the last of them was written. */
  modifiedUnixMs: number;
  sizeBytes: number;
}

/** A listed name that stands under no key. */
export interface ForeignObject {
  foreign: BucketObject;
}

/** Most objects of one key that are held; nothing of ours makes as many. */
const OBJECTS_MAX = 4096;

/** One listing of a day (`YYYYMMDD`); names come in byte order, so a key's objects stand together. */
export async function* keyGroups(
  bucket: ObjectBucket,
  date: string,
): AsyncGenerator<KeyGroup | ForeignObject, void, undefined> {
  let group: KeyGroup | undefined;
  for await (const object of bucket.list(`${SNAPSHOT_PREFIX}${date}/`)) {
    const key = keyOf(object.name);
    if (key === undefined) {
      yield { foreign: object };
      continue;
    }
    if (group?.key !== key) {
      if (group) yield group;
      group = { key, objects: [], modifiedUnixMs: 0, sizeBytes: 0 };
    }
    addObject(group, object);
  }
  if (group) yield group;
}

/** The objects of one key; undefined when it has none. */
export async function keyGroup(bucket: ObjectBucket, key: string): Promise<KeyGroup | undefined> {
  const group: KeyGroup = { key, objects: [], modifiedUnixMs: 0, sizeBytes: 0 };
  for await (const object of bucket.list(`${key}/`)) addObject(group, object);
  return group.objects.length > 0 ? group : undefined;
}

function addObject(group: KeyGroup, object: BucketObject): void {
  if (group.objects.length >= OBJECTS_MAX) return;
  group.objects.push(object);
  group.modifiedUnixMs = Math.max(group.modifiedUnixMs, object.modifiedUnixMs);
  group.sizeBytes += object.sizeBytes;
}

/** The key that an object's name begins with. */
function keyOf(name: string): string | undefined {
  const at = name.lastIndexOf('/');
  const key = at < 0 ? undefined : normalKey(name.slice(0, at));
  return key !== undefined && parseSnapshotKey(key) !== undefined && at < name.length - 1 ? key : undefined;
}
