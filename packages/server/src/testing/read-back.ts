/** Reads what an archiver wrote as every reader does. Not part of the package's surface. */
import type { Snapshot } from '@orangebox/schema';
import { type ObjectBucket, readObjects } from '@orangebox/store';

/** The snapshot of a key in a bucket. */
export function createBucketSnapshotReader(bucket: ObjectBucket): (key: string) => Promise<Snapshot | undefined> {
  return (key) =>
    readObjects(key, {
      nameOf: (object) => `${key}/${object}`,
      async list() {
        const names: string[] = [];
        for await (const { name } of bucket.list(`${key}/`)) names.push(name.slice(key.length + 1));
        return names;
      },
      read: (object, maxBytes) => bucket.read(`${key}/${object}`, maxBytes),
    });
}
