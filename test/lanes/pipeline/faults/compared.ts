/** What the program's segments promise, compared with what the store and Jaeger have. */
import { gunzipSync } from 'node:zlib';
import { type ObjectBucket, openStore, type StoredEntry } from '@orangebox/store';
import type { Pipeline } from '../pipeline.ts';
import { bucketOf, documentOf, objectNames, readKey, storedDocument } from '../stored-objects.ts';

/** The comparison. */
export interface Compared {
  promised: number;
  /** Objects (or whole sets of parts) whose document has the very bytes of the segment's. */
  equal: number;
  different: string[];
  /** Keys that the store does not hold. */
  missing: string[];
  /** Objects under keys that nobody promised. */
  strange: number;
}

/** Snapshots compared at once. */
const AT_ONCE = 8;

/** All entries of recordings that promise a key. */
async function promised<T>(
  recordings: string,
  look: (entries: (StoredEntry & { key: string })[], store: Awaited<ReturnType<typeof openStore>>) => Promise<T>,
): Promise<T> {
  const store = await openStore(recordings);
  try {
    const entries: (StoredEntry & { key: string })[] = [];
    for await (const entry of store.list({ order: 'oldest' })) {
      if (entry.key) entries.push({ ...entry, key: entry.key });
    }
    return await look(entries, store);
  } finally {
    await store.close();
  }
}

/** Keys that the recordings promise, of calls that began since then. */
export const promisedKeys = (recordings: string, sinceMs = 0): Promise<string[]> =>
  promised(recordings, async (entries) =>
    entries.filter(({ time }) => Number(BigInt(time.startUnixNano) / 1_000_000n) >= sinceMs).map(({ key }) => key),
  );

/** Names of a store's objects by key. */
export async function objectsByKey(bucket: ObjectBucket): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const name of await objectNames(bucket)) {
    const at = name.lastIndexOf('/');
    const key = name.slice(0, at);
    found.set(key, [...(found.get(key) ?? []), name.slice(at + 1)]);
  }
  return found;
}

/** Whether what stands under a key is whole as far as names tell. */
export function isWhole(names: readonly string[] | undefined): boolean {
  if (names === undefined) return false;
  if (names.includes('snapshot.json.gz')) return true;
  const counts = names.map((name) => Number(/-of-(\d{4})$/.exec(name)?.[1] ?? Number.NaN));
  return counts.some((count) => counts.filter((other) => other === count).length >= count);
}

/** Compares every promised key with the store, byte by byte. */
export async function compareStore(servers: Pipeline, recordings: string): Promise<Compared> {
  const bucket = bucketOf(servers);
  try {
    return await promised(recordings, async (entries, store) => {
      const objects = await objectsByKey(bucket);
      const result: Compared = { promised: entries.length, equal: 0, different: [], missing: [], strange: 0 };
      const keys = new Set(entries.map(({ key }) => key));
      result.strange = [...objects.keys()].filter((key) => !keys.has(key)).length;
      const queue = [...entries];
      const work = async (): Promise<void> => {
        for (let entry = queue.shift(); entry; entry = queue.shift()) {
          const names = objects.get(entry.key);
          if (!isWhole(names)) {
            result.missing.push(entry.key);
            continue;
          }
          const document = await documentOf(await store.load(entry));
          const stored = names?.includes('snapshot.json.gz')
            ? await storedDocument(bucket, entry.key)
            : await joinedDocument(bucket, entry.key, names ?? []);
          if (stored?.equals(document)) result.equal += 1;
          else result.different.push(entry.key);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      return result;
    });
  } finally {
    await bucket.close();
  }
}

/** The document of a payload in parts, joined by name; any reader has to find it too. */
async function joinedDocument(bucket: ObjectBucket, key: string, names: readonly string[]): Promise<Buffer> {
  await readKey(bucket, key);
  const parts = await Promise.all([...names].sort().map((name) => bucket.read(`${key}/${name}`, 64 * 2 ** 20)));
  return gunzipSync(Buffer.concat(parts.flatMap((part) => part ?? [])));
}

/** Keys that spans in Jaeger carry. */
export async function keysInJaeger({ jaeger }: Pick<Pipeline, 'jaeger'>): Promise<Set<string>> {
  const found = new Set<string>();
  const response = await fetch(`${jaeger.url}/api/traces?service=steady&limit=100000&lookback=2h`);
  if (!response.ok) throw new Error(`Jaeger answers ${response.status}`);
  const { data } = (await response.json()) as {
    data: { spans: { tags: { key: string; value: unknown }[] }[] }[];
  };
  for (const { spans } of data) {
    for (const { tags } of spans) {
      for (const { key, value } of tags) if (key === 'orangebox.snapshot.key') found.add(String(value));
    }
  }
  return found;
}
