import { indexObjectName } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { bucketContract } from '../testing/bucket-suite.ts';
import { DAY, indexBench, MINUTE } from '../testing/index-bench.ts';
import { createBucketStore } from './bucket-store.ts';
import type { ObjectBucket } from './bucket.ts';
import { encodeIndexRows } from './index-rows.ts';
import { createMemoryBucket } from './memory-bucket.ts';
import { rememberIndex } from './remember-index.ts';

/** Requests that a bucket got. */
interface Requests {
  lists: number;
  reads: string[];
}

function counted(bucket: ObjectBucket): { counting: ObjectBucket; take: () => Requests } {
  let requests: Requests = { lists: 0, reads: [] };
  const counting: ObjectBucket = {
    kind: bucket.kind,
    location: bucket.location,
    read: (name, max) => (requests.reads.push(name), bucket.read(name, max)),
    readStart: async (name, size) => (requests.reads.push(name), bucket.readStart?.(name, size)),
    stat: (name) => bucket.stat(name),
    write: (name, bytes, options) => bucket.write(name, bytes, options),
    list: (prefix, options) => ((requests.lists += 1), bucket.list(prefix, options)),
    prefixes: (prefix) => ((requests.lists += 1), bucket.prefixes(prefix)),
    delete: (names) => bucket.delete(names),
    check: () => bucket.check(),
    close: () => bucket.close(),
  };
  const take = (): Requests => {
    const taken = requests;
    requests = { lists: 0, reads: [] };
    return taken;
  };
  return { counting, take };
}

describe('a bucket that keeps its index', () => {
  bucketContract(async () => ({ bucket: rememberIndex(createMemoryBucket()), remove: () => {} }));
});

describe('an index that is looked at again and again', () => {
  const bench = indexBench();
  const WINDOW = 15;

  async function minute(i: number, calls = 1): Promise<string> {
    const name = indexObjectName({
      date: '20261129',
      minute: `00${String(i).padStart(2, '0')}`,
      writer: 'aaaaaaaa',
      generation: 0,
    });
    const rows = Array.from({ length: calls }, (_, n) => bench.rowAt(DAY + i * MINUTE + n));
    await bench.bucket.write(name, await encodeIndexRows(rows));
    return name;
  }

  it.each([{}, { sessionId: 's-1' }])('is read once, then only what is new or another: %o', async (filter) => {
    const names: string[] = [];
    for (let i = 0; i < WINDOW; i += 1) names.push(await minute(i));
    const { counting, take } = counted(bench.bucket);
    const store = createBucketStore(rememberIndex(counting));
    const look = async (): Promise<number> => {
      let count = 0;
      for await (const _ of store.list({ ...filter, sinceUnixMs: DAY, order: 'oldest' })) count += 1;
      return count;
    };
    const first = await look();
    const { reads } = take();
    expect([...new Set(reads)].sort()).toEqual(names);
    expect(await look()).toBe(first);
    expect(take()).toEqual({ lists: 2, reads: [] });
    const added = await minute(WINDOW);
    await look();
    expect(new Set(take().reads)).toEqual(new Set([added]));
    await minute(3, 2);
    await look();
    expect(new Set(take().reads)).toEqual(new Set([names[3]]));
  });

  it('is kept up to a bound only', async () => {
    for (let i = 0; i < WINDOW; i += 1) await minute(i);
    const { counting, take } = counted(bench.bucket);
    const one = (await bench.bucket.stat((await bench.names())[0] ?? ''))?.sizeBytes ?? 0;
    const store = createBucketStore(rememberIndex(counting, one * 4));
    for (const _ of [1, 2, 3]) {
      let count = 0;
      for await (const _entry of store.list({ sinceUnixMs: DAY })) count += 1;
      expect(count).toBe(WINDOW);
      expect(take().reads.length).toBeGreaterThan(WINDOW - 5);
    }
  });
});
