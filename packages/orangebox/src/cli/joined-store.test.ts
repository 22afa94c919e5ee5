import { createMemoryStore, type SnapshotStore, type StoredEntry } from '@orangebox/store';
import { OrangeboxError, SNAPSHOT_SCHEMA, type Snapshot } from '@orangebox/schema';
import { snapshotDigest } from '@orangebox/codec';
import { sha256 } from '@orangebox/store';
import { describe, expect, it } from 'vitest';
import { JoinedStore } from './joined-store.ts';

function snapshotAt(second: number): Snapshot {
  const spanId = String(second).padStart(16, '0');
  const nano = `${1_772_000_000 + second}000000000`;
  const document: Omit<Snapshot, 'digest'> = {
    schema: SNAPSHOT_SCHEMA,
    id: spanId,
    kind: 'tool',
    trace: { traceId: '1'.repeat(32), spanId, sampled: true },
    scope: [],
    time: { startUnixNano: nano, endUnixNano: nano },
    exchanges: [],
    tool: { basis: 'wrapped', name: `tool${second}` },
    process: { pid: 1, threadId: 0, host: 'h', node: '20', orangebox: '0', serviceName: 's' },
    fidelity: { level: 'exact' },
    redactions: [],
  };
  return { ...document, digest: snapshotDigest(document, sha256) };
}

async function idsOf(store: JoinedStore, filter = {}): Promise<number[]> {
  const ids: number[] = [];
  for await (const entry of store.list(filter)) ids.push(Number(entry.trace.spanId));
  return ids;
}

describe('two stores read as one', () => {
  it('list each call once, in order, and load it from where it is', async () => {
    const [left, right] = [createMemoryStore(), createMemoryStore()];
    for (const n of [1, 3]) await left.put(snapshotAt(n));
    for (const n of [2, 3, 4]) await right.put(snapshotAt(n));
    const joined = new JoinedStore([left, right]);
    expect(await idsOf(joined)).toEqual([4, 3, 2, 1]);
    expect(await idsOf(joined, { order: 'oldest', limit: 3 })).toEqual([1, 2, 3]);
    for await (const entry of joined.list()) expect((await joined.load(entry)).id).toBe(entry.trace.spanId);
    expect(await joined.get('v1/nothing')).toBeUndefined();
  });

  it('give a call from the second where the first has it damaged, and the fault where no other has it', async () => {
    const [left, right] = [createMemoryStore(), createMemoryStore()];
    for (const n of [1, 2]) await left.put(snapshotAt(n));
    const key = await right.put(snapshotAt(1));
    const damaged = async (): Promise<never> => {
      throw new OrangeboxError('OBX_SNAPSHOT_DIGEST', 'damaged');
    };
    const joined = new JoinedStore([Object.assign(left, { get: damaged, load: damaged }), right]);
    expect((await joined.get(key))?.digest).toBe(snapshotAt(1).digest);
    const entries: StoredEntry[] = [];
    for await (const entry of joined.list()) entries.push(entry);
    const [second, first] = entries;
    expect((await joined.load(first as StoredEntry)).digest).toBe(snapshotAt(1).digest);
    await expect(joined.load(second as StoredEntry)).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_DIGEST' });
  });

  const failing = (code: `OBX_${string}`): SnapshotStore & { asked: number } => {
    const store = Object.assign(createMemoryStore('far away'), { asked: 0 });
    const fail = (): never => {
      store.asked++;
      throw new OrangeboxError(code, `fails with ${code}`);
    };
    return Object.assign(store, { list: fail, get: async () => fail(), load: async () => fail() });
  };

  it('drop the fault of one that cannot be asked where the other has entries, and tell it once', async () => {
    const near = createMemoryStore();
    await near.put(snapshotAt(1));
    const told: string[] = [];
    const far = failing('OBX_SOURCE_UNREACHABLE');
    const joined = new JoinedStore([near, far], { onFault: ({ code }) => told.push(code) });
    expect(await idsOf(joined)).toEqual([1]);
    expect(await idsOf(joined)).toEqual([1]);
    expect(told).toEqual(['OBX_SOURCE_UNREACHABLE']);
    // Each question to it would take its time-out again.
    expect(far.asked).toBe(1);
    joined.retry();
    await idsOf(joined);
    expect(far.asked).toBe(2);
    const silent = new JoinedStore([near, failing('OBX_STORE_SINCE_REQUIRED')], {
      onFault: ({ code }) => told.push(code),
    });
    expect(await idsOf(silent)).toEqual([1]);
    expect(told).toHaveLength(1);
  });

  it('throw the fault where nobody has an entry, a missing time before what is out of reach, which is told as well', async () => {
    const both = [failing('OBX_SOURCE_UNREACHABLE'), failing('OBX_STORE_SINCE_REQUIRED'), createMemoryStore()];
    const told: string[] = [];
    const joined = new JoinedStore(both, { onFault: (fault) => void told.push(fault.code) });
    await expect(idsOf(joined)).rejects.toMatchObject({ code: 'OBX_STORE_SINCE_REQUIRED' });
    expect(told).toEqual(['OBX_SOURCE_UNREACHABLE']);
    const damaged = new JoinedStore([failing('OBX_SNAPSHOT_DIGEST'), createMemoryStore()]);
    await expect(idsOf(damaged)).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_DIGEST' });
  });

  it('do not say that a call is lost while a place is out of reach that may have it', async () => {
    const near = createMemoryStore();
    const key = await near.put(snapshotAt(1));
    const lost = async (): Promise<never> => {
      throw new OrangeboxError('OBX_SNAPSHOT_LOST', 'gone');
    };
    const joined = new JoinedStore([Object.assign(near, { load: lost }), failing('OBX_STORE_UNREACHABLE')]);
    const entries: StoredEntry[] = [];
    for await (const entry of joined.list()) entries.push(entry);
    expect(entries[0]?.key).toBe(key);
    await expect(joined.load(entries[0] as StoredEntry)).rejects.toMatchObject({ code: 'OBX_STORE_UNREACHABLE' });
  });

  it('prefer what can be loaded to what is promised, and that to what is lost', async () => {
    const withStatus = (status: StoredEntry['status']): SnapshotStore => {
      const store = createMemoryStore(status);
      const { list } = store;
      return Object.assign(store, {
        async *list(filter?: object): AsyncIterable<StoredEntry> {
          for await (const entry of list.call(store, filter)) yield { ...entry, status };
        },
      });
    };
    const stores = (['lost', 'promised', 'stored'] as const).map(withStatus);
    for (const store of stores) await store.put(snapshotAt(1));
    const statusOf = async (...picked: SnapshotStore[]): Promise<string[]> => {
      const found: string[] = [];
      for await (const { status } of new JoinedStore(picked).list()) found.push(status);
      return found;
    };
    expect(await statusOf(...stores)).toEqual(['stored']);
    expect(await statusOf(...stores.slice(0, 2))).toEqual(['promised']);
  });

  it('keep new calls where they are told to, and nowhere when there is no such place', async () => {
    const [left, right] = [createMemoryStore(), createMemoryStore()];
    await new JoinedStore([left, right], { keep: right }).put(snapshotAt(1));
    expect(await idsOf(new JoinedStore([right]))).toEqual([1]);
    const nowhere = new JoinedStore([left], { keep: null });
    expect(nowhere.keeps).toBe(false);
    await expect(nowhere.put(snapshotAt(1))).rejects.toMatchObject({ code: 'OBX_STORE_READ_ONLY' });
  });

  it('delete in both', async () => {
    const [left, right] = [createMemoryStore(), createMemoryStore()];
    await left.put(snapshotAt(1));
    await right.put(snapshotAt(2));
    const joined = new JoinedStore([left, right]);
    expect((await joined.delete({ traceId: '1'.repeat(32) })).deleted).toBe(2);
    expect(await idsOf(joined)).toEqual([]);
  });
});
