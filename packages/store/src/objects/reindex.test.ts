import { beforeEach, describe, expect, it } from 'vitest';
import { type Snapshot, snapshotKey } from '@orangebox/schema';
import { passThrough } from '../testing/bucket-suite.ts';
import { DAY, indexBench, keysOf, MINUTE } from '../testing/index-bench.ts';
import type { ObjectBucket } from './bucket.ts';
import { indexRowOf } from './index-rows.ts';
import { createIndexWriter } from './index-writer.ts';
import { encodePayload } from './payload.ts';
import { reindexRange } from './reindex.ts';

const bench = indexBench();
const { callAt, rowAt, names, rows } = bench;
let bucket: ObjectBucket;
beforeEach(() => {
  bucket = bench.bucket;
});

describe('a reindex', () => {
  const put = async (snapshot: Snapshot): Promise<string> => {
    const key = snapshotKey(snapshot);
    await bucket.write(`${key}/snapshot.json.gz`, await encodePayload(snapshot));
    return key;
  };
  const range = { sinceUnixMs: DAY, untilUnixMs: DAY + 1_440 * MINUTE };
  /** Makes what is in the bucket look as old as a settled object. */
  const settled = (): ObjectBucket => {
    const old = Date.now() - 3_600_000;
    return {
      ...passThrough(bucket),
      stat: async (name) => {
        const found = await bucket.stat(name);
        return found && { ...found, modifiedUnixMs: old };
      },
      list: async function* (prefix, options) {
        for await (const object of bucket.list(prefix, options)) yield { ...object, modifiedUnixMs: old };
      },
    };
  };

  it('makes the rows of all snapshots of the range anew and replaces the old objects', async () => {
    const keys = [
      await put(callAt(DAY + MINUTE)),
      await put(callAt(DAY + 5 * MINUTE)),
      await put(callAt(DAY + 5 * MINUTE + 7)),
    ];
    await put(callAt(DAY + 2 * 1_440 * MINUTE));
    const writer = createIndexWriter(bucket, { writer: 'old', flushMs: 0 });
    writer.add(rowAt(DAY + MINUTE));
    writer.add(rowAt(DAY + 900 * MINUTE));
    await writer.close();
    const progress: number[] = [];
    const result = await reindexRange(settled(), range, { onProgress: ({ rows: made }) => progress.push(made) });
    expect(result).toEqual({
      days: 1,
      opened: 3,
      rows: 3,
      unreadable: 0,
      objectsWritten: 2,
      objectsDeleted: 2,
      faults: [],
    });
    expect(progress.at(-1)).toBe(3);
    expect(keysOf(await rows()).sort()).toEqual(keys.sort());
    expect((await names()).some((name) => name.includes('-old-'))).toBe(false);
    // A second time it comes to the same.
    await reindexRange(settled(), range);
    expect(keysOf(await rows()).sort()).toEqual(keys.sort());
  });

  it('leaves objects of minutes outside the range, and those that a writer may still be at', async () => {
    const key = await put(callAt(DAY + 5 * MINUTE));
    const writer = createIndexWriter(bucket, { writer: 'live', flushMs: 0 });
    const before = rowAt(DAY + MINUTE);
    writer.add(before);
    writer.add(rowAt(DAY + 5 * MINUTE));
    await writer.flush();
    const half = { sinceUnixMs: DAY + 2 * MINUTE, untilUnixMs: DAY + 10 * MINUTE };
    expect(await reindexRange(bucket, half)).toMatchObject({ rows: 1, objectsDeleted: 0 });
    expect(keysOf(await rows())).toContain(key);
    expect(await reindexRange(settled(), half)).toMatchObject({ rows: 1, objectsDeleted: 2 });
    expect(keysOf(await rows()).sort()).toEqual([before.key, key].sort());
  });

  it('loses no row that an archiver writes meanwhile, whenever it does', async () => {
    const first = callAt(DAY + MINUTE);
    await put(first);
    const writer = createIndexWriter(bucket, { writer: 'live', flushMs: 0 });
    writer.add(indexRowOf(first, 1));
    await writer.flush();
    const second = callAt(DAY + MINUTE + 5);
    const racing = settled();
    let hasArrived = false;
    const withRace: ObjectBucket = {
      ...racing,
      list: async function* (prefix, options) {
        yield* racing.list(prefix, options);
        // After the snapshots were listed: one more, and the row that goes with it.
        if (!prefix.startsWith('v1/') || hasArrived) return;
        hasArrived = true;
        await put(second);
        writer.add(indexRowOf(second, 1));
        await writer.flush();
      },
    };
    await reindexRange(withRace, range);
    expect(hasArrived).toBe(true);
    expect(new Set(keysOf(await rows()))).toEqual(new Set([snapshotKey(first), snapshotKey(second)]));
  });

  it('counts what cannot be read and goes on', async () => {
    const key = await put(callAt(DAY));
    const broken = await put(callAt(DAY + 1));
    await bucket.write(`${broken}/snapshot.json.gz`, Buffer.from('broken'));
    await bucket.write('v1/20261129/stray.txt', Buffer.from('x'));
    const result = await reindexRange(bucket, range);
    expect(result).toMatchObject({ opened: 1, rows: 1, unreadable: 1 });
    expect(result.faults).toEqual([{ key: broken, code: expect.stringMatching(/^OBX_SNAPSHOT_/) }]);
    expect(keysOf(await rows())).toEqual([key]);
  });
});
