/** What the store at the end of a pipeline holds. */
import { gunzipSync } from 'node:zlib';
import type { Snapshot } from '@orangebox/schema';
import { encodePayload, type ObjectBucket, openBucket, readObjects } from '@orangebox/store';
import type { Pipeline } from './pipeline.ts';

/** Largest object that the tests read. */
const MAX_BYTES = 256 * 1024 * 1024;

/** The store of a pipeline as a bucket. */
export const bucketOf = ({ store, cliEnv }: Pick<Pipeline, 'store' | 'cliEnv'>): ObjectBucket =>
  openBucket(store, { env: cliEnv });

/** Names of all objects below the keys' common prefix, in order. */
export async function objectNames(bucket: ObjectBucket, prefix = 'v1/'): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of bucket.list(prefix)) names.push(name);
  return names;
}

/** The snapshot of a key as any reader finds it, digest verified. */
export function readKey(bucket: ObjectBucket, key: string): Promise<Snapshot | undefined> {
  return readObjects(key, {
    nameOf: (object) => `${bucket.location}/${key}/${object}`,
    list: async () => (await objectNames(bucket, `${key}/`)).map((name) => name.slice(key.length + 1)),
    read: (object, maxBytes) => bucket.read(`${key}/${object}`, maxBytes),
  });
}

/** The bytes of a snapshot's document in the exact object of its key. */
export async function storedDocument(bucket: ObjectBucket, key: string): Promise<Buffer | undefined> {
  const bytes = await bucket.read(`${key}/snapshot.json.gz`, MAX_BYTES);
  return bytes && gunzipSync(bytes);
}

/** The bytes that this snapshot's document must have wherever it is kept. */
export const documentOf = async (snapshot: Snapshot): Promise<Buffer> => gunzipSync(await encodePayload(snapshot));
