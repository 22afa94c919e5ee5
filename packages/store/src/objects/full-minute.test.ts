import { beforeEach, describe, expect, it } from 'vitest';
import { indexObjectName, type IndexRow } from '@orangebox/schema';
import { DAY, indexBench } from '../testing/index-bench.ts';
import type { ListFilter, StoredEntry } from '../store.ts';
import { createBucketStore } from './bucket-store.ts';
import type { ObjectBucket } from './bucket.ts';
import { encodeIndexRows, entryOfRow } from './index-rows.ts';
import { MinuteEntries } from './minute-entries.ts';

const bench = indexBench();
let bucket: ObjectBucket;
let made: IndexRow[];

/** Rows of one minute: each a call of its own, a millisecond after the one before. */
function rowsOf(count: number): IndexRow[] {
  const text = JSON.stringify(bench.rowAt(DAY));
  const { trace, time } = JSON.parse(text) as IndexRow;
  return Array.from({ length: count }, (_, i): IndexRow => {
    const spanId = (i + 1).toString(16).padStart(16, '0');
    const startUnixNano = String(BigInt(time.startUnixNano) + BigInt(i) * 1_000_000n);
    const row = JSON.parse(text.replaceAll(trace.spanId, spanId)) as IndexRow;
    return { ...row, time: { ...row.time, startUnixNano, endUnixNano: startUnixNano } };
  });
}

beforeEach(async () => {
  bucket = bench.bucket;
  made = rowsOf(3_000);
  // Each object has some of the whole minute, and one of them is there twice.
  for (const [i, writer] of ['a', 'b', 'c', 'd'].entries()) {
    const name = indexObjectName({ date: '20261129', minute: '0000', writer, generation: 0 });
    await bucket.write(name, await encodeIndexRows(made.filter((_, at) => at % 3 === i % 3)));
  }
});

const spanIds = (rows: readonly IndexRow[]): string[] => rows.map(({ trace }) => trace.spanId);

async function list(filter: ListFilter, minuteEntriesMax?: number) {
  const store = createBucketStore(bucket, minuteEntriesMax === undefined ? {} : { minuteEntriesMax });
  const found: string[] = [];
  for await (const entry of store.list({ sinceUnixMs: DAY, ...filter })) found.push(entry.trace.spanId);
  return { found, problems: await store.problems() };
}

describe('a minute with very many calls', () => {
  it('gives the best of a limit, each once, in either order', async () => {
    const newest = await list({ limit: 1_500 });
    expect(newest.found).toEqual(spanIds(made.slice(-1_500).reverse()));
    expect((await list({ limit: 1_500, order: 'oldest' })).found).toEqual(spanIds(made.slice(0, 1_500)));
    expect(newest.problems).toEqual([]);
  });

  it('without a limit gives what its bound allows, and says that there is more', async () => {
    const { found, problems } = await list({}, 700);
    expect(new Set(found).size).toBe(700);
    expect(problems).toEqual([
      expect.objectContaining({
        code: 'OBX_INDEX_TOO_MANY',
        message: expect.stringContaining('more than 700 calls of one minute (2026-11-29 00:00 UTC)'),
      }),
    ]);
    expect((await list({}, 3_000)).problems).toEqual([]);
    // What the filter does not take counts for nothing.
    expect(await list({ spanId: made[2_999]?.trace.spanId ?? '' }, 1)).toEqual({
      found: [made[2_999]?.trace.spanId],
      problems: [],
    });
  });

  it('never holds many more entries than are wanted', () => {
    const kept = new MinuteEntries({ limit: 10 });
    const refusing = new MinuteEntries({ limit: 10, model: 'no such model' });
    let most = 0;
    for (const row of made) {
      const entry: StoredEntry = entryOfRow(row, '');
      kept.add(entry);
      refusing.add(entry);
      most = Math.max(most, kept.values().length);
    }
    expect(most).toBeLessThan(1_100);
    expect(refusing.values()).toEqual([]);
    expect(kept.isCut).toBe(false);
  });
});
