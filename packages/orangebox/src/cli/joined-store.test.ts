import { createMemoryStore, type StoredEntry } from '@orangebox/store';
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

  it('delete in both', async () => {
    const [left, right] = [createMemoryStore(), createMemoryStore()];
    await left.put(snapshotAt(1));
    await right.put(snapshotAt(2));
    const joined = new JoinedStore([left, right]);
    expect((await joined.delete({ traceId: '1'.repeat(32) })).deleted).toBe(2);
    expect(await idsOf(joined)).toEqual([]);
  });
});
