import type { ListFilter, SnapshotStore, StoredEntry } from '@orangebox/store';
import { expect, it } from 'vitest';
import { StoreFollower } from './follow-store.ts';
import { SeenCalls } from './seen-calls.ts';

const BEGIN_MS = 1_772_000_000_000;

function call(n: number, startMs: number): StoredEntry {
  const nano = `${startMs}000000`;
  const spanId = n.toString(16).padStart(16, '0');
  return {
    trace: { traceId: '1'.repeat(32), spanId, sampled: true },
    time: { startUnixNano: nano, endUnixNano: nano },
    status: 'stored',
  } as StoredEntry;
}

it('remembers the calls of its window only, and shows each of them once', async () => {
  let nowMs = BEGIN_MS;
  const calls: StoredEntry[] = [];
  const store = {
    kind: 'bucket',
    async *list({ sinceUnixMs = 0 }: ListFilter) {
      for (const entry of calls) if (Number(entry.time.startUnixNano) / 1e6 >= sinceUnixMs) yield entry;
    },
  } as unknown as SnapshotStore;
  const follower = new StoreFollower(store, { filter: {}, nowMs: () => nowMs, windowMs: 60_000 });
  await follower.begin(0);
  let shown = 0;
  let most = 0;
  for (let minute = 0; minute < 50; minute += 1) {
    nowMs += 60_000;
    for (let i = 0; i < 400; i += 1) calls.push(call(calls.length, nowMs - i * 100));
    for (const _ of [1, 2]) shown += (await follower.look()).ended.length;
    most = Math.max(most, follower.remembered);
  }
  expect(shown).toBe(calls.length);
  expect(most).toBeLessThan(2_000);
});

it('forgets calls only when there are many, and then those that began before', () => {
  const seen = new SeenCalls();
  for (let n = 0; n < 999; n += 1) expect(seen.add(String(n), call(n, BEGIN_MS + n))).toBe(true);
  seen.forgetBefore(BEGIN_MS + 500);
  expect(seen.size).toBe(999);
  expect(seen.add('7', call(7, BEGIN_MS))).toBe(false);
  seen.add('999', call(999, BEGIN_MS + 999));
  seen.forgetBefore(BEGIN_MS + 500);
  expect([seen.size, seen.has('499'), seen.has('500')]).toEqual([500, false, true]);
});

it('shows a call when it begins and when it ends, each once', async () => {
  const running: StoredEntry = { ...call(1, BEGIN_MS + 1_000), status: 'open' };
  let calls: StoredEntry[] = [];
  const store = {
    kind: 'segments',
    async *list({ status }: ListFilter) {
      yield* calls.filter((entry) => status === undefined || entry.status === status);
    },
  } as unknown as SnapshotStore;
  const follower = new StoreFollower(store, { filter: {}, nowMs: () => BEGIN_MS + 2_000, windowMs: 60_000 });
  await follower.begin(10);
  calls = [running];
  expect(await follower.look()).toEqual({ begun: [running], ended: [] });
  expect(await follower.look()).toEqual({ begun: [], ended: [] });
  calls = [{ ...running, status: 'stored' }];
  expect(await follower.look()).toEqual({ begun: [], ended: calls });
  expect(await follower.look()).toEqual({ begun: [], ended: [] });
});
