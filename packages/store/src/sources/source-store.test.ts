import { beforeEach, describe, expect, it } from 'vitest';
import { ATTR, type Snapshot, snapshotKey } from '@orangebox/schema';
import { createMemoryStore } from '../memory-store.ts';
import type { ListFilter, SnapshotStore, StoredEntry } from '../store.ts';
import { CALL_ID, KEY, SESSION_ID, SPANS, START_MS, TRACE_ID } from '../testing/trace-answers.ts';
import { TestSegments, temporaryDirectory } from '../testing/write-segments.ts';
import { createSourceStore } from './source-store.ts';
import type { SourceSpan, SpanAttribute, SpanQuery, TraceSource } from './trace-source.ts';

const [call] = SPANS as [SourceSpan];

/** A trace backend that has these spans, and notes what it is asked. */
function backend(
  spans: readonly SourceSpan[],
  truncated = false,
): TraceSource & { traces: string[]; queries: SpanQuery[] } {
  const traces: string[] = [];
  const queries: SpanQuery[] = [];
  return {
    kind: 'jaeger',
    location: 'http://jaeger',
    traces,
    queries,
    async trace(traceId) {
      traces.push(traceId);
      return spans.filter((span) => span.traceId === traceId);
    },
    async search(query) {
      queries.push(query);
      return { spans: [...spans], truncated };
    },
  };
}

const withAttributes = (attributes: Record<string, SpanAttribute>, more: Partial<SourceSpan> = {}): SourceSpan => {
  const { traceId, spanId } = { ...call, ...more };
  const key = KEY.replace(TRACE_ID, traceId).replace(CALL_ID, spanId);
  return { ...call, attributes: { ...call.attributes, [ATTR.snapshotKey]: key, ...attributes }, ...more };
};

async function listed(store: SnapshotStore, filter?: ListFilter): Promise<StoredEntry[]> {
  const entries: StoredEntry[] = [];
  for await (const entry of store.list(filter)) entries.push(entry);
  return entries;
}

const one = async (span: SourceSpan): Promise<StoredEntry> => {
  const [entry] = await listed(createSourceStore(backend([span])), { traceId: span.traceId });
  return entry as StoredEntry;
};

describe('an entry', () => {
  it('has what the span of the call says, its attempts as ids of its own', async () => {
    const entries = await listed(createSourceStore(backend([...SPANS, ...SPANS])), { traceId: TRACE_ID });
    expect(entries).toEqual([
      {
        ref: '001122',
        key: KEY,
        kind: 'llm',
        trace: { traceId: TRACE_ID, spanId: CALL_ID, parentSpanId: 'aaaaaaaaaaaaaaaa', sampled: true },
        session: { id: SESSION_ID, seq: 3, basis: 'declared' },
        scope: [{ kind: 'agent', name: 'planner', id: '' }],
        time: { startUnixNano: call.startUnixNano, endUnixNano: call.endUnixNano },
        summary: {
          operation: 'chat',
          provider: 'openai',
          model: 'gpt-4o-mini',
          status: 200,
          ending: 'complete',
          attempts: 2,
          stream: true,
          inputTokens: 12,
          outputTokens: 34,
          timeToFirstChunkNano: '250000000',
          finishReasons: ['stop'],
        },
        fidelity: { level: 'exact' },
        status: 'promised',
        sizeBytes: 4096,
        digest: 'd'.repeat(64),
        attemptSpanIds: ['00000000000000a1', 'ffeeddccbbaa9988'],
        process: { pid: 42, threadId: 0, host: 'box', serviceName: 'agent service' },
        location: 'http://jaeger',
      },
    ]);
  });

  it('has no key where the span names that of another call: whoever writes spans could show any snapshot as its own', async () => {
    const [otherTrace, otherSpan] = [KEY.replace(TRACE_ID, 'e'.repeat(32)), KEY.replace(CALL_ID, 'f'.repeat(16))];
    for (const key of [otherTrace, otherSpan]) {
      const entry = await one(withAttributes({ [ATTR.snapshotKey]: key }));
      expect([entry.status, 'key' in entry]).toEqual(['not_kept', false]);
    }
  });

  it('is not_kept without a key, and with one that is none', async () => {
    for (const key of ['', '../../x', `${KEY}/..`]) {
      const entry = await one(withAttributes({ [ATTR.snapshotKey]: key }));
      expect([entry.status, 'key' in entry]).toEqual(['not_kept', false]);
    }
  });

  it('of a tool names the tool and whether it failed; of other HTTP the URL', async () => {
    const tool = withAttributes({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'weather',
      'gen_ai.tool.call.id': 'call_1',
      'error.type': 'RangeError',
    });
    expect(await one({ ...tool, status: 'error', statusMessage: 'no such place' })).toMatchObject({
      kind: 'tool',
      tool: { name: 'weather', callId: 'call_1', failed: true },
      error: { type: 'RangeError', message: 'no such place' },
    });
    const { 'gen_ai.operation.name': _operation, ...rest } = call.attributes;
    const http = await one({ ...call, attributes: { ...rest, 'url.full': 'https://example.com/x' } });
    expect(http).toMatchObject({ kind: 'http', request: { method: 'POST', url: 'https://example.com/x' } });
  });

  it('says how the call ended, as far as its span tells', async () => {
    const cases: [Record<string, SpanAttribute>, string, boolean][] = [
      [{ 'error.type': '429', 'http.response.status_code': 429 }, 'complete', false],
      [{ 'error.type': 'timeout' }, 'timeout', true],
      [{ 'error.type': 'caller_abort' }, 'caller_abort', true],
      [{ 'error.type': 'ECONNREFUSED', 'http.response.status_code': '' }, 'connect_failed', true],
      [{ 'error.type': 'ECONNRESET' }, 'error', true],
      [{ 'error.type': 'server_error' }, 'complete', true],
    ];
    for (const [attributes, ending, hasError] of cases) {
      const entry = await one(withAttributes(attributes, { status: 'error' }));
      expect([attributes, entry.summary?.ending, entry.error !== undefined]).toEqual([attributes, ending, hasError]);
    }
    expect(
      await one(withAttributes({ [ATTR.snapshotFidelity]: 'partial', [ATTR.snapshotFidelityReason]: 'body_limit' })),
    ).toMatchObject({ fidelity: { level: 'partial', reason: 'body_limit' } });
  });

  it('is made of no span whose placeholders were never filled, nor of the program’s own', async () => {
    const empty = Object.fromEntries(Object.values(ATTR).map((name) => [name, '']));
    const program = SPANS.at(-1) as SourceSpan;
    expect(await listed(createSourceStore(backend([withAttributes(empty), program])), { traceId: TRACE_ID })).toEqual(
      [],
    );
  });
});

describe('a listing', () => {
  const other = withAttributes({ [ATTR.sessionId]: 'other', 'gen_ai.request.model': 'o3' }, { spanId: '9'.repeat(16) });

  it('asks for a trace by its id or by those of keys, else for a time', async () => {
    const source = backend([call, other]);
    const store = createSourceStore(source);
    expect(await listed(store, { traceId: TRACE_ID, spanId: CALL_ID })).toHaveLength(1);
    expect(await listed(store, { keys: [KEY, KEY.replace(CALL_ID, '9'.repeat(16))] })).toHaveLength(2);
    expect([source.traces, source.queries]).toEqual([[TRACE_ID, TRACE_ID], []]);
    const now = Date.now();
    await listed(store);
    await listed(store, { sessionId: SESSION_ID });
    await listed(store, { sinceUnixMs: 5, untilUnixMs: 9 });
    const [hour, week, said] = source.queries as [SpanQuery, SpanQuery, SpanQuery];
    expect(Math.abs(hour.sinceUnixMs - (now - 3600_000))).toBeLessThan(60_000);
    expect(Math.abs(week.sinceUnixMs - (now - 7 * 24 * 3600_000))).toBeLessThan(60_000);
    expect([hour.attributes, week.attributes]).toEqual([undefined, { [ATTR.sessionId]: SESSION_ID }]);
    expect(said).toEqual({ sinceUnixMs: 5, untilUnixMs: 9 });
  });

  it('filters and orders as every store does', async () => {
    const later = withAttributes({}, { spanId: '8'.repeat(16), startUnixNano: `${START_MS + 60_000}000000` });
    const store = createSourceStore(backend([call, other, later]));
    const since = { sinceUnixMs: START_MS - 1 };
    const ids = async (filter: ListFilter): Promise<string[]> =>
      (await listed(store, { ...since, ...filter })).map((entry) => entry.trace.spanId[0] ?? '');
    expect(await ids({ order: 'oldest' })).toEqual(['0', '9', '8']);
    expect(await ids({ limit: 1 })).toEqual(['8']);
    expect(await ids({ model: 'O3' })).toEqual(['9']);
    expect(await ids({ sessionId: SESSION_ID })).toEqual(['8', '0']);
    expect(await ids({ scope: 'planner', spanIdPrefix: '00' })).toEqual(['0']);
    expect(await ids({ status: 'promised', untilUnixMs: START_MS + 1 })).toEqual(['9', '0']);
    expect(await ids({ kinds: ['tool'] })).toEqual([]);
  });

  it('says that it is not all where the backend gave no more', async () => {
    const store = createSourceStore(backend([call], true));
    await listed(store);
    expect(await store.problems()).toMatchObject([
      { code: 'OBX_SOURCE_TRUNCATED', location: 'http://jaeger', hint: 'ask for a shorter time' },
    ]);
    const manyServices = { ...backend(SPANS), search: async () => ({ spans: [], truncated: true, isFinal: true }) };
    const other = createSourceStore(manyServices);
    expect(await listed(other)).toEqual([]);
    expect(await other.problems()).toMatchObject([
      {
        code: 'OBX_SOURCE_TRUNCATED',
        message: expect.stringContaining('services'),
        hint: expect.stringContaining('trace id'),
      },
    ]);
  });
});

describe('a snapshot', () => {
  let snapshot: Snapshot;
  let span: SourceSpan;
  beforeEach(() => {
    const { path, remove } = temporaryDirectory();
    snapshot = new TestSegments(path).call({ startMs: START_MS });
    remove();
    span = withAttributes({ [ATTR.snapshotKey]: snapshotKey(snapshot) }, { ...snapshot.trace });
  });

  it('comes from the store of payloads', async () => {
    const payloads = createMemoryStore();
    await payloads.put(snapshot);
    const store = createSourceStore(backend([span]), payloads);
    const [entry] = await listed(store, { traceId: span.traceId, text: 'hello there' });
    expect((await store.load(entry as StoredEntry)).digest).toBe(snapshot.digest);
    expect((await store.get(`//${snapshotKey(snapshot)}`))?.id).toBe(snapshot.id);
    expect(await store.get('no key')).toBeUndefined();
  });

  it('that is not there is not yet there for ten minutes, and lost after them', async () => {
    const load = async (agoMs: number, payloads?: SnapshotStore): Promise<unknown> => {
      const entry = await one({ ...span, endUnixNano: `${Date.now() - agoMs}000000` });
      return createSourceStore(backend([span]), payloads)
        .load(entry)
        .catch((error: unknown) => error);
    };
    expect(await load(9 * 60_000, createMemoryStore())).toMatchObject({
      code: 'OBX_SNAPSHOT_NOT_ARRIVED',
      hint: expect.stringContaining('--wait'),
    });
    expect(await load(11 * 60_000, createMemoryStore())).toMatchObject({ code: 'OBX_SNAPSHOT_LOST' });
    expect(await load(0)).toMatchObject({
      code: 'OBX_STORE_NOT_CONFIGURED',
      hint: expect.stringContaining('ORANGEBOX_STORE'),
    });
  });

  it('that nobody promised was not kept', async () => {
    const entry = await one(withAttributes({ [ATTR.snapshotKey]: '' }));
    await expect(createSourceStore(backend([])).load(entry)).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_NOT_KEPT' });
  });

  it('is neither written nor deleted', async () => {
    const store = createSourceStore(backend([span]), createMemoryStore());
    await expect(store.put(snapshot)).rejects.toMatchObject({ code: 'OBX_STORE_READ_ONLY' });
    await expect(store.delete([snapshotKey(snapshot)])).rejects.toMatchObject({ code: 'OBX_STORE_READ_ONLY' });
  });
});
