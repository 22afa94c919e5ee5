import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { indexObjectName, type IndexRow, OrangeboxError, parseIndexObjectName, snapshotKey } from '@orangebox/schema';
import { passThrough } from '../testing/bucket-suite.ts';
import { DAY, indexBench, keysOf, MINUTE } from '../testing/index-bench.ts';
import type { StoreProblem } from '../store.ts';
import { createBucketStore } from './bucket-store.ts';
import type { ObjectBucket } from './bucket.ts';
import { encodeIndexRows, indexRowOf } from './index-rows.ts';
import { createIndexWriter } from './index-writer.ts';

const bench = indexBench();
const { callAt, rowAt, names, rows } = bench;
let bucket: ObjectBucket;
beforeEach(() => {
  bucket = bench.bucket;
});

describe('a row', () => {
  it('holds what a list shows, bounded whatever the snapshot holds', () => {
    const long = 'x'.repeat(10_000);
    const call = callAt(DAY, {
      attempts: [
        {
          ending: 'connect_failed',
          stage: 'connect',
          error: { stage: 'connect', type: long, message: `${'x'.repeat(498)}😀${long}` },
        },
      ],
      error: { stage: 'connect', type: long, message: `${'x'.repeat(498)}😀${long}` },
      scope: Array.from({ length: 300 }, (_, i) => ({ kind: 'agent' as const, name: long, id: String(i) })),
    });
    const row = indexRowOf(call, 5);
    expect(row).toMatchObject({ key: snapshotKey(call), kind: 'llm', digest: call.digest, sizeBytes: 5 });
    expect(row.scope).toHaveLength(64);
    expect(JSON.stringify(row).length).toBeLessThan(64 * 600);
    // No half of a character is left at the cut.
    expect(row.error?.message).toBe(`${'x'.repeat(498)}…`);
  });
});

describe('the index writer', () => {
  it('writes one object per minute of start, each as a whole at every flush', async () => {
    const writer = createIndexWriter(bucket, { writer: 'w', flushMs: 0 });
    const early = [rowAt(DAY + 1_000), rowAt(DAY + 59_999)];
    const next = rowAt(DAY + MINUTE);
    for (const row of [...early, next]) writer.add(row);
    await writer.flush();
    expect(await names()).toEqual(['index/v1/20261129/0000-w-0.jsonl.gz', 'index/v1/20261129/0001-w-0.jsonl.gz']);
    const late = rowAt(DAY + 2_000);
    writer.add(late);
    writer.add(late);
    await writer.close();
    expect(await names()).toHaveLength(2);
    expect(keysOf(await rows({ order: 'oldest' }))).toEqual(keysOf([...early, late, next]));
    expect(writer.stats()).toEqual({ added: 4, written: 4, pending: 0, dropped: 0, objectsWritten: 3, failures: 0 });
  });

  it('writes by itself within its interval', async () => {
    let written = (): void => {};
    const done = new Promise<void>((resolve) => (written = resolve));
    const watched: ObjectBucket = {
      ...passThrough(bucket),
      write: async (...args) => {
        const outcome = await bucket.write(...args);
        written();
        return outcome;
      },
    };
    const writer = createIndexWriter(watched, { flushMs: 20 });
    writer.add(rowAt(DAY));
    await done;
    expect(await rows()).toHaveLength(1);
    await writer.close();
  });

  it('goes on in the next object when one is full, and never writes a full one again', async () => {
    const writer = createIndexWriter(bucket, { writer: 'w', flushMs: 0, maxRows: 2 });
    const made = [0, 1, 2, 3, 4].map((i) => rowAt(DAY + i));
    for (const row of made) {
      writer.add(row);
      await writer.flush();
    }
    expect((await names()).map((name) => parseIndexObjectName(name)?.generation)).toEqual([0, 1, 2]);
    expect(keysOf(await rows({ order: 'oldest' }))).toEqual(keysOf(made));
    expect(writer.stats()).toMatchObject({ written: 5, pending: 0 });
  });

  it('keeps rows that the store does not take, tries again, and counts', async () => {
    let isDown = true;
    const errors: unknown[] = [];
    const flaky: ObjectBucket = {
      ...passThrough(bucket),
      write: async (...args) => {
        if (isDown) throw new OrangeboxError('OBX_STORE_UNREACHABLE', 'down');
        return bucket.write(...args);
      },
    };
    const writer = createIndexWriter(flaky, { flushMs: 0, onError: (error) => errors.push(error) });
    writer.add(rowAt(DAY));
    writer.add(rowAt(DAY + MINUTE));
    await expect(writer.flush()).rejects.toMatchObject({ code: 'OBX_STORE_UNREACHABLE' });
    expect(writer.stats()).toMatchObject({ pending: 2, failures: 2 });
    expect(errors).toHaveLength(2);
    isDown = false;
    await writer.close();
    expect(await rows()).toHaveLength(2);
    expect(writer.stats()).toMatchObject({ pending: 0, written: 2 });
  });

  it('holds bounded memory when the store stays away: the oldest minutes are given up and counted', async () => {
    const down: ObjectBucket = {
      ...passThrough(bucket),
      write: async () => {
        throw new OrangeboxError('OBX_STORE_UNREACHABLE', 'down');
      },
    };
    const writer = createIndexWriter(down, { flushMs: 0, maxBytes: 10_000 });
    for (let i = 0; i < 50; i += 1) writer.add(rowAt(DAY + i * MINUTE));
    const { added, dropped, pending } = writer.stats();
    expect({ added, sum: dropped + pending }).toEqual({ added: 50, sum: 50 });
    expect(pending).toBeGreaterThan(3);
    expect(pending).toBeLessThan(20);
  });
});

describe('reading an index', () => {
  it('gives rows of the time asked for, newest minute first, from every writer', async () => {
    const made = [0, 30, 90, 60 * 24, 60 * 24 + 1].map((minutes) => rowAt(DAY + minutes * MINUTE));
    for (const [i, row] of made.entries()) {
      const writer = createIndexWriter(bucket, { writer: `w${i % 2}`, flushMs: 0 });
      writer.add(row);
      await writer.close();
    }
    expect(keysOf(await rows())).toEqual(keysOf(made).reverse());
    expect(keysOf(await rows({ sinceUnixMs: DAY + 30 * MINUTE, order: 'oldest' }))).toEqual(keysOf(made.slice(1)));
    expect(keysOf(await rows({ sinceUnixMs: DAY + 30 * MINUTE + 1, untilUnixMs: DAY + 1_440 * MINUTE }))).toEqual([
      made[2]?.key,
    ]);
    expect(await rows({ sinceUnixMs: DAY + 2 * 1_440 * MINUTE })).toEqual([]);
  });

  it('parses only lines that hold the needle', async () => {
    const made = Array.from({ length: 50 }, (_, i) => rowAt(DAY + i));
    const broken = Buffer.concat([gunzipSync(await encodeIndexRows(made)), Buffer.from('{ not a row }\n')]);
    await bucket.write(
      indexObjectName({ date: '20261129', minute: '0000', writer: 'w', generation: 0 }),
      gzipSync(broken),
    );
    const problems: StoreProblem[] = [];
    const wanted = made[17] as IndexRow;
    const onProblem = (problem: StoreProblem): number => problems.push(problem);
    expect(await rows({ needle: Buffer.from(wanted.trace.spanId), onProblem })).toEqual([wanted]);
    expect(await rows({ needle: Buffer.from('nowhere'), onProblem })).toEqual([]);
    expect(problems).toEqual([]);
    expect(await rows({ onProblem })).toHaveLength(50);
    expect(problems).toEqual([expect.objectContaining({ code: 'OBX_INDEX_DAMAGED' })]);
  });

  it('passes over objects and rows that are damaged, foreign or lie about their key, and says so', async () => {
    const good = rowAt(DAY);
    const other = rowAt(DAY + 1);
    const name = (writer: string): string =>
      indexObjectName({ date: '20261129', minute: '0000', writer, generation: 0 });
    await bucket.write(name('a'), Buffer.from('not a gzip'));
    await bucket.write(name('b'), (await encodeIndexRows([good])).subarray(0, 60));
    await bucket.write(name('c'), gzipSync(Buffer.alloc(100 * 1024 * 1024)));
    await bucket.write(
      name('d'),
      await encodeIndexRows([{ ...good, key: other.key }, { ...good, scope: 'x' as never }, good]),
    );
    await bucket.write('index/v1/20261129/readme.txt', Buffer.from('x'));
    await bucket.write('index/v1/whatever/0000-w-0.jsonl.gz', Buffer.from('x'));
    const problems: StoreProblem[] = [];
    expect(await rows({ onProblem: (problem) => problems.push(problem) })).toEqual([good]);
    const objects = problems.map((problem) => /-(\w)-0/.exec(problem.location)?.[1]);
    expect(objects.sort()).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('the store of a bucket', () => {
  it('asks for a time where it would have to read everything', async () => {
    const store = createBucketStore(bucket);
    const list = async (filter = {}): Promise<string[]> => {
      const found: string[] = [];
      for await (const entry of store.list(filter)) found.push(entry.key ?? '');
      return found;
    };
    const call = callAt(DAY, { traceId: 'b'.repeat(32) });
    const key = await store.put(call);
    await expect(list()).rejects.toMatchObject({ code: 'OBX_STORE_SINCE_REQUIRED' });
    await expect(list({ sessionId: 'x' })).rejects.toMatchObject({ code: 'OBX_STORE_SINCE_REQUIRED' });
    expect(await list({ traceId: 'b'.repeat(32) })).toEqual([key]);
    expect(await list({ traceId: 'c'.repeat(32) })).toEqual([]);
    expect(await list({ keys: [key, key, 'x'] })).toEqual([key]);
  });

  it('stops reading at the limit: only the newest minutes are opened', async () => {
    const writer = createIndexWriter(bucket, { flushMs: 0 });
    for (let i = 0; i < 200; i += 1) writer.add(rowAt(DAY + i * MINUTE));
    await writer.close();
    let reads = 0;
    const counted: ObjectBucket = {
      ...passThrough(bucket),
      read: (...args) => {
        reads += 1;
        return bucket.read(...args);
      },
    };
    const found: number[] = [];
    for await (const entry of createBucketStore(counted).list({ sinceUnixMs: DAY, limit: 3 })) {
      found.push((Number(entry.time.startUnixNano) / 1e6 - DAY) / MINUTE);
    }
    expect(found.map(Math.round)).toEqual([199, 198, 197]);
    expect(reads).toBeLessThan(25);
  });

  it('replaces an object that is damaged, and leaves one that is well', async () => {
    const call = callAt(DAY);
    const key = snapshotKey(call);
    const store = createBucketStore(bucket);
    await bucket.write(`${key}/snapshot.json.gz`, Buffer.from('damaged'));
    await expect(store.get(key)).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_NOT_A_RECORDING' });
    await store.put(call);
    expect(await store.get(key)).toEqual(call);
    const stored = await bucket.read(`${key}/snapshot.json.gz`, 1e6);
    await bucket.write(`${key}/snapshot.json.gz`, gzipSync(gunzipSync(stored ?? Buffer.alloc(0)), { level: 1 }));
    const other = await bucket.read(`${key}/snapshot.json.gz`, 1e6);
    await store.put(call);
    expect(await bucket.read(`${key}/snapshot.json.gz`, 1e6)).toEqual(other);
  });
});
