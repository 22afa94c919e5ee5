/** What every snapshot store must do: one suite, run on each kind. Not part of the package's surface. */
import { expect, it } from 'vitest';
import { OrangeboxError, type Snapshot, snapshotKey } from '@orangebox/schema';
import { ownCalls } from '../canary.ts';
import type { ListFilter, SnapshotStore, StoredEntry } from '../store.ts';
import { TestSegments, temporaryDirectory } from './write-segments.ts';

/** A store with snapshots in it, and how to be done with it. */
export interface StoreUnderTest {
  store: SnapshotStore;
  /** Puts a snapshot in, in the store's own way. */
  remove: () => void | Promise<void>;
}

/** The snapshots that a store under test holds, and a writer for more. */
export interface ContractFixture {
  calls: Snapshot[];
  segments: TestSegments;
}

/** Makes the snapshots of the suite: their segments are written but not saved. */
export function contractFixture(directory: string): ContractFixture {
  const segments = new TestSegments(directory);
  const day = Date.UTC(2026, 10, 29, 23);
  const session = { id: 'session-a', seq: 0, basis: 'declared' as const, userId: 'user-7' };
  const trace = 'a'.repeat(32);
  const calls = [
    segments.call({ startMs: day, traceId: trace, session }),
    segments.call({
      startMs: day + 3_600_000 * 2,
      traceId: trace,
      session: { ...session, seq: 1 },
      scope: [{ kind: 'agent', name: 'planner', id: '1' }],
      attempts: [
        { status: 429, response: ['{"error":{"message":"slow down"}}'] },
        { response: ['{"object":"chat.completion","model":"gpt-4o","choi', 'ces":[],"note":"Zürich"}'] },
      ].map((attempt) => ({ status: 200, ...attempt })),
    }),
    segments.call({ startMs: day + 3_600_000 * 3, attempts: [{ status: 500, response: ['broken'] }] }),
    segments.call({
      startMs: day + 3_600_000 * 4,
      attempts: [
        {
          ending: 'connect_failed',
          stage: 'connect',
          error: { stage: 'connect', type: 'Error', code: 'ECONNREFUSED', message: 'refused' },
        },
      ],
      error: { stage: 'connect', type: 'Error', code: 'ECONNREFUSED', message: 'refused' },
    }),
    segments.tool({ name: 'get_time', result: '"noon"' }, { traceId: trace, session, startMs: day + 3_600_000 * 5 }),
  ];
  return { calls, segments };
}

/** What a store needs of whoever lists it. */
export interface ContractNeeds {
  /** Conditions that every listing gets: a store of objects is searched by time only. */
  every?: ListFilter;
}

/** Runs the contract on a store that `open` makes with the fixture's snapshots in it. */
export function storeContract(
  open: (fixture: ContractFixture, directory: string) => Promise<SnapshotStore>,
  needs: ContractNeeds = {},
): void {
  const withStore = async (body: (store: SnapshotStore, calls: Snapshot[]) => Promise<void>): Promise<void> => {
    const { path, remove } = temporaryDirectory();
    try {
      const fixture = contractFixture(path);
      const store = await open(fixture, path);
      await body(store, fixture.calls);
      await store.close();
    } finally {
      remove();
    }
  };
  const listed = async (store: SnapshotStore, filter?: ListFilter): Promise<StoredEntry[]> => {
    const entries: StoredEntry[] = [];
    for await (const entry of store.list({ ...needs.every, ...filter })) entries.push(entry);
    return entries;
  };
  const keysOf = async (store: SnapshotStore, filter?: ListFilter): Promise<(string | undefined)[]> =>
    (await listed(store, filter)).map((entry) => entry.key);
  const pick = (calls: Snapshot[], ...indexes: number[]): string[] =>
    indexes.map((i) => snapshotKey(calls[i] as Snapshot));

  it('gives back every snapshot whole, also under a key with doubled slashes', () =>
    withStore(async (store, calls) => {
      for (const call of calls) {
        expect(await store.get(snapshotKey(call))).toEqual(call);
        expect(await store.get(snapshotKey(call).replaceAll('/', '//'))).toEqual(call);
      }
    }));

  it('gives nothing for a key it does not have and for text that is no key', () =>
    withStore(async (store, calls) => {
      const [known = ''] = pick(calls, 0);
      expect(await store.get(`${known.slice(0, -16)}${'0'.repeat(16)}`)).toBeUndefined();
      expect(await store.get('../../etc/passwd')).toBeUndefined();
      expect(await store.get('')).toBeUndefined();
    }));

  it('lists newest first, with references that are unique and facts that need no body', () =>
    withStore(async (store, calls) => {
      const entries = await listed(store);
      expect(entries.map((entry) => entry.key)).toEqual(pick(calls, 4, 3, 2, 1, 0));
      for (const entry of entries) {
        expect(entry.ref.length).toBeGreaterThanOrEqual(6);
        expect(entries.filter((other) => other.trace.spanId.startsWith(entry.ref))).toHaveLength(1);
        expect(entry.status).toBe('stored');
        expect(await store.load(entry)).toEqual(calls.find((call) => call.id === entry.trace.spanId));
      }
      const retried = entries[3] as StoredEntry;
      expect(retried.summary).toMatchObject({ attempts: 2, status: 200, ending: 'complete', api: 'openai.chat' });
      expect(retried.request).toEqual({ method: 'POST', url: 'https://api.openai.com/v1/chat/completions' });
      expect(retried.attemptSpanIds).toHaveLength(2);
      expect(entries[0]?.tool).toMatchObject({ name: 'get_time', failed: false });
    }));

  it('filters by time, kind, status, model, tool, text, session, user, trace, span and scope', () =>
    withStore(async (store, calls) => {
      const day = Date.UTC(2026, 10, 29, 23);
      const retried = calls[1] as Snapshot;
      const cases: [ListFilter, number[]][] = [
        [{ sinceUnixMs: day + 3_600_000 * 3 }, [4, 3, 2]],
        [{ untilUnixMs: day + 3_600_000 * 3 }, [1, 0]],
        [{ kinds: ['tool'] }, [4]],
        [{ status: 'error' }, [3, 2]],
        [{ status: 'ok' }, [4, 1, 0]],
        [{ status: '500' }, [2]],
        [{ status: '5xx' }, [2]],
        [{ status: 'connect_failed' }, [3]],
        [{ model: 'GPT-4O-mini' }, [2, 0]],
        [{ tool: 'get_time' }, [4]],
        [{ text: 'zürich' }, [1]],
        [{ text: 'noon' }, [4]],
        [{ sessionId: 'session-a' }, [4, 1, 0]],
        [{ userId: 'user-7', kinds: ['llm'] }, [1, 0]],
        [{ traceId: 'a'.repeat(32) }, [4, 1, 0]],
        [{ spanId: retried.id }, [1]],
        [{ spanId: retried.exchanges[0]?.spanId ?? '' }, [1]],
        [{ spanIdPrefix: retried.id.slice(0, 12) }, [1]],
        [{ scope: 'planner' }, [1]],
        [{ keys: pick(calls, 2, 0) }, [2, 0]],
        [{ order: 'oldest', limit: 2 }, [0, 1]],
        [{ model: 'gpt-4o', status: '429' }, []],
      ];
      for (const [filter, expected] of cases) {
        expect([filter, await keysOf(store, filter)]).toEqual([filter, pick(calls, ...expected)]);
      }
    }));

  it('deletes by key and by filter, and nothing for an empty selection', () =>
    withStore(async (store, calls) => {
      expect(await store.delete([])).toMatchObject({ deleted: 0 });
      expect(await store.delete({})).toMatchObject({ deleted: 0 });
      expect(await store.delete({ limit: 3 })).toMatchObject({ deleted: 0 });
      expect(await store.delete(pick(calls, 2))).toMatchObject({ deleted: 1, kept: [] });
      expect(await keysOf(store)).toEqual(pick(calls, 4, 3, 1, 0));
      const result = await store.delete({ ...needs.every, sessionId: 'session-a' });
      expect(result).toMatchObject({ deleted: 3, kept: [] });
      expect(result.freedBytes).toBeGreaterThan(0);
      expect(await keysOf(store)).toEqual(pick(calls, 3));
      for (const i of [0, 1, 2, 4]) expect(await store.get(pick(calls, i)[0] ?? '')).toBeUndefined();
      expect(await store.get(pick(calls, 3)[0] ?? '')).toEqual(calls[3]);
    }));

  it('leaves canaries of doctor out of a list that asks for no ids, before it counts', () =>
    withStore(async (store, calls) => {
      const { path, remove } = temporaryDirectory();
      try {
        const session = { id: 'orangebox-canary', seq: 0, basis: 'declared' as const };
        const made = { spanId: 'feedfacefeedface', startMs: Date.UTC(2026, 11, 1), session };
        const key = await store.put(new TestSegments(path).call(made));
        const time = needs.every;
        expect(await keysOf(store, ownCalls({ ...time, limit: 1 }))).toEqual(pick(calls, 4));
        expect(await keysOf(store, ownCalls({ ...time, sessionId: session.id }))).toEqual([key]);
        expect(await keysOf(store, ownCalls({ ...time, spanId: made.spanId }))).toEqual([key]);
        expect(await keysOf(store)).toEqual([key, ...pick(calls, 4, 3, 2, 1, 0)]);
        expect(await store.delete(ownCalls({}))).toMatchObject({ deleted: 0 });
      } finally {
        remove();
      }
    }));

  it('keeps a snapshot that is put, once, and refuses one whose digest is wrong', () =>
    withStore(async (store, calls) => {
      const { path, remove } = temporaryDirectory();
      try {
        const made = new TestSegments(path).call({ spanId: 'feedfacefeedface', startMs: Date.UTC(2026, 11, 1) });
        const key = await store.put(made);
        expect(key).toBe(snapshotKey(made));
        expect(await store.put(made)).toBe(key);
        expect(await store.get(key)).toEqual(made);
        expect(await keysOf(store)).toEqual([key, ...pick(calls, 4, 3, 2, 1, 0)]);
        const changed = { ...made, kind: 'http' as const };
        await expect(store.put(changed)).rejects.toThrow(OrangeboxError);
        await expect(store.put({ ...made, id: '../../../../tmp/x' })).rejects.toMatchObject({
          code: 'OBX_SNAPSHOT_SHAPE',
        });
      } finally {
        remove();
      }
    }));
}
