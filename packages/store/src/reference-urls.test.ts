import { beforeAll, describe, expect, it } from 'vitest';
import { OrangeboxError, type Snapshot, snapshotKey } from '@orangebox/schema';
import { createMemoryStore } from './memory-store.ts';
import type { ReferenceOptions } from './reference-types.ts';
import { findSessionId, resolveOne, resolveReference } from './references.ts';
import type { ListFilter, SnapshotStore } from './store.ts';
import { TestSegments, temporaryDirectory } from './testing/write-segments.ts';

const trace = '0'.repeat(16) + 'a'.repeat(16);
const [callId, otherId] = ['abcdef0000000001', 'abcdef0000000002'];
const START_MS = Date.UTC(2026, 10, 30, 12);
let call: Snapshot;
let other: Snapshot;

beforeAll(() => {
  const { path, remove } = temporaryDirectory();
  const segments = new TestSegments(path);
  const session = { id: '0e808abf28091afa117a27d1c82c4c0f', seq: 0, basis: 'inferred' as const };
  const attempts = [{ status: 429, response: ['{}'] }, { status: 200 }];
  call = segments.call({ traceId: trace, spanId: callId, startMs: START_MS, session, attempts });
  other = segments.call({ traceId: trace, spanId: otherId, startMs: START_MS + 1, session });
  remove();
});

/** A store with these snapshots that says it is a bucket. */
async function bucket(location: string, ...snapshots: Snapshot[]): Promise<SnapshotStore> {
  const store = createMemoryStore(location);
  for (const snapshot of snapshots) await store.put(snapshot);
  return asBucket(store);
}

function asBucket(store: SnapshotStore, list = store.list.bind(store)): SnapshotStore {
  const { location } = store;
  return {
    kind: 'bucket',
    location,
    get: (key) => store.get(key),
    load: (entry) => store.load(entry),
    put: (snapshot) => store.put(snapshot),
    list,
    delete: (selection) => store.delete(selection),
    problems: () => store.problems(),
    close: () => store.close(),
  };
}

/** Lists by key and trace id only, as a bucket does where no time is given. */
async function timed(): Promise<{ store: SnapshotStore; filters: ListFilter[] }> {
  const filters: ListFilter[] = [];
  const inner = await bucket('s3://timed', call, other);
  const list = (filter: ListFilter = {}): ReturnType<SnapshotStore['list']> => {
    filters.push(filter);
    if (!filter.keys && filter.traceId === undefined && filter.sinceUnixMs === undefined) {
      throw new OrangeboxError('OBX_STORE_SINCE_REQUIRED', 's3://timed is searched by time', { hint: 'some hint' });
    }
    return inner.list(filter);
  };
  return { store: asBucket(inner, list), filters };
}

const empty = (): SnapshotStore => createMemoryStore('nothing here');
const ids = async (text: string, options: ReferenceOptions): Promise<string[]> =>
  (await resolveReference(text, options)).entries.map((entry) => entry.trace.spanId);

describe('an s3:// reference', () => {
  it('names a snapshot in its bucket, with or without prefix and object', async () => {
    const opened: string[] = [];
    const openBucketUrl = async (url: string): Promise<SnapshotStore> => {
      opened.push(url);
      return bucket(url, call);
    };
    const key = snapshotKey(call);
    for (const text of [
      `s3://box/${key}`,
      `S3://box/team/a/${key}/`,
      `s3://box/team//${key.replaceAll('/', '//')}/snapshot.json.gz`,
      `s3://box/v1/${key}/part-0000`,
    ]) {
      const { entries, store, kind } = await resolveReference(text, { store: empty(), openBucketUrl });
      expect([kind, entries[0]?.trace.spanId, store.location]).toEqual(['key', callId, opened.at(-1)]);
    }
    expect(opened).toEqual(['s3://box', 's3://box/team/a', 's3://box/team', 's3://box/v1']);
    await expect(
      resolveReference(`s3://box/${snapshotKey(other)}`, { store: empty(), openBucketUrl }),
    ).rejects.toMatchObject({ code: 'OBX_REF_UNKNOWN' });
  });

  it('needs no opener where its bucket is the store, and says so where it is not', async () => {
    const store = await bucket('s3://box/a', call);
    expect(await ids(`s3://box/a/${snapshotKey(call)}`, { store })).toEqual([callId]);
    await expect(ids(`s3://box/b/${snapshotKey(call)}`, { store })).rejects.toMatchObject({
      code: 'OBX_REF_UNSUPPORTED',
      hint: expect.stringContaining('ORANGEBOX_STORE=s3://box/b'),
    });
  });

  it('that names no snapshot is refused', async () => {
    const options = { store: empty(), openBucketUrl: (): Promise<SnapshotStore> => Promise.reject(new Error('asked')) };
    for (const text of [
      's3://',
      's3://box',
      's3://box/',
      `s3:///${snapshotKey(call)}`,
      `s3://box/${snapshotKey(call)}/../x/y`,
    ]) {
      await expect(ids(text, options)).rejects.toMatchObject({ code: 'OBX_REF_UNSUPPORTED' });
    }
  });
});

describe('a pasted URL', () => {
  it('names the call of its span, or of an attempt, or all calls of its trace', async () => {
    const store = await bucket('s3://box', call, other);
    expect(await ids(`http://j:16686/trace/${trace}?uiFind=${otherId}`, { store })).toEqual([otherId]);
    expect(await ids(`http://127.0.0.1:4331/t/${trace}/${callId}`, { store })).toEqual([callId]);
    expect(await ids(`http://j/trace/${trace}?uiFind=${call.exchanges[0]?.spanId}`, { store })).toEqual([callId]);
    expect(await ids(`http://j/trace/${'a'.repeat(16)}`, { store })).toEqual([callId, otherId]);
    expect((await resolveOne(`http://j/trace/${trace}?uiFind=${callId}`, { store })).entry.trace.spanId).toBe(callId);
  });

  it('of a span that is no call says which calls its trace has', async () => {
    const store = await bucket('s3://box', call, other);
    await expect(ids(`http://j/trace/${trace}?uiFind=${'9'.repeat(16)}`, { store })).rejects.toMatchObject({
      code: 'OBX_REF_UNKNOWN',
      hint: expect.stringContaining(`${callId}, ${otherId}`),
    });
  });

  it('lets its own backend be asked where the store does not know the trace', async () => {
    const asked: string[] = [];
    const openSourceUrl = async (base: string): Promise<SnapshotStore | undefined> => {
      asked.push(base);
      return base.includes('forbidden') ? undefined : bucket('theirs', call);
    };
    const found = await resolveReference(`http://j/ui/trace/${trace}`, { store: empty(), openSourceUrl });
    expect([found.store.location, asked]).toEqual(['theirs', ['http://j/ui']]);
    const known = await bucket('ours', call);
    expect((await resolveReference(`http://j/trace/${trace}`, { store: known, openSourceUrl })).store).toBe(known);
    const failing = asBucket(empty(), () => {
      throw new OrangeboxError('OBX_STORE_UNREACHABLE', 'gone');
    });
    expect(await ids(`http://j/trace/${trace}`, { store: failing, openSourceUrl })).toEqual([callId]);
    await expect(ids(`http://forbidden/trace/${trace}`, { store: failing, openSourceUrl })).rejects.toMatchObject({
      code: 'OBX_STORE_UNREACHABLE',
    });
    // Orangebox's own page is no trace backend.
    asked.length = 0;
    await expect(ids(`http://x/t/${trace}/${callId}`, { store: empty(), openSourceUrl })).rejects.toMatchObject({
      code: 'OBX_REF_UNKNOWN',
    });
    expect(asked).toEqual([]);
  });

  it('that names no trace is refused without its secrets', async () => {
    for (const text of ['http://me:geheim@j/search?token=geheim', 'https://', 'http://me:geheim@']) {
      const error: unknown = await ids(text, { store: empty() }).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'OBX_REF_UNSUPPORTED' });
      expect((error as Error).message).not.toContain('geheim');
    }
  });
});

describe('a store that must be told a time', () => {
  it('finds keys, trace ids and pairs of ids without one', async () => {
    const { store, filters } = await timed();
    for (const text of [snapshotKey(call), `${trace}:${callId}`, `00-${trace}-${callId}-01`]) {
      expect(await ids(text, { store })).toEqual([callId]);
    }
    expect(await ids(trace, { store })).toEqual([callId, otherId]);
    expect(filters).toHaveLength(4);
  });

  it('asks for --since for everything else, and finds it with one', async () => {
    const { store, filters } = await timed();
    for (const text of [callId, otherId, '0e808abf28091afa117a27d1c82c4c0f', '0e808abf', 'last', 'abcdef000000000']) {
      await expect(ids(text, { store }), text).rejects.toMatchObject({
        code: 'OBX_STORE_SINCE_REQUIRED',
        hint: expect.stringContaining('--since 2h'),
      });
    }
    filters.length = 0;
    const sinceUnixMs = START_MS - 1;
    expect(await ids(callId, { store, sinceUnixMs })).toEqual([callId]);
    expect(await ids('0e808abf', { store, sinceUnixMs })).toEqual([callId, otherId]);
    expect(await ids('0e808abf28091afa117a27d1c82c4c0f', { store, sinceUnixMs })).toEqual([callId, otherId]);
    expect(await ids('last', { store, sinceUnixMs })).toEqual([otherId]);
    expect(await findSessionId('0e808abf', store, sinceUnixMs)).toMatch(/^0e808abf/);
    expect(filters.every((filter) => filter.sinceUnixMs === sinceUnixMs || filter.traceId !== undefined)).toBe(true);
  });

  it('still opens files', async () => {
    const { path, remove } = temporaryDirectory();
    try {
      const segments = new TestSegments(path);
      const snapshot = segments.call();
      const { store } = await timed();
      expect(await ids(segments.close(), { store })).toEqual([snapshot.id]);
    } finally {
      remove();
    }
  });
});

it('a key that no listing names is read from where it stands', async () => {
  const inner = await bucket('s3://box', call);
  const store = asBucket(inner, () => inner.list({ keys: [] }));
  const { entries, kind } = await resolveReference(snapshotKey(call), { store });
  expect([kind, entries[0]?.ref, entries[0]?.key]).toEqual(['key', 'abcdef', snapshotKey(call)]);
});
