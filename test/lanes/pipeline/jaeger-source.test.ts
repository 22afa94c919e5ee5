/** What the real Jaeger says of spans that were sent to it, by each of its APIs. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ATTR } from '@orangebox/schema';
import {
  createJaegerSource,
  createSourceStore,
  openTraceSource,
  resolveReference,
  type SourceSpan,
  type StoredEntry,
  type TraceSource,
} from '@orangebox/store';
import {
  CALL_ID,
  jaegerResourceSpans,
  KEY,
  SESSION_ID,
  SPANS,
  TRACE_ID,
} from '../../../packages/store/src/testing/trace-answers.ts';
import { type JaegerServer, startJaeger } from './servers/index.ts';

const NOW_MS = Date.now();
const QUERY = { sinceUnixMs: NOW_MS - 60_000, untilUnixMs: NOW_MS + 60_000 };
const CALLS = 2300;
/** The spans of the fixtures, now, to the nanosecond. */
const spans = SPANS.map((span, i) => ({
  ...span,
  startUnixNano: `${NOW_MS}00012${i}`,
  endUnixNano: `${NOW_MS + 1500}00045${i}`,
}));
const [call] = spans as [SourceSpan];
/** Calls of a busy service, each in a trace of its own, over 46 seconds. */
const busy = Array.from(
  { length: CALLS },
  (_, i): SourceSpan => ({
    ...call,
    traceId: `b${i.toString(16).padStart(31, '0')}`,
    startUnixNano: `${NOW_MS - i * 20}000000`,
    endUnixNano: `${NOW_MS - i * 20 + 5}000000`,
    attributes: { [ATTR.snapshotFidelity]: 'partial', [ATTR.sessionId]: `busy-${i % 10}` },
    resource: { 'service.name': 'busy service' },
    events: [],
  }),
);

let jaeger: JaegerServer;
/** The source with both APIs, and with one of them only. */
let sources: Record<'both' | 'v3' | 'legacy', TraceSource>;

beforeAll(async () => {
  jaeger = await startJaeger();
  for (const list of [spans, busy]) {
    const response = await fetch(`${jaeger.otlpUrl}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ resourceSpans: jaegerResourceSpans(list) }),
    });
    expect(response.status).toBe(200);
  }
  const without = (path: RegExp): TraceSource =>
    createJaegerSource({
      url: jaeger.url,
      fetch: async (input, init) =>
        path.test(new URL(String(input)).pathname) ? new Response('', { status: 404 }) : fetch(input, init),
    });
  sources = {
    both: await openTraceSource(jaeger.url),
    v3: without(/^\/api\/(traces|services)/),
    legacy: without(/^\/api\/v3/),
  };
  await arrived(TRACE_ID, spans.length);
  await arrived(busy.at(-1)?.traceId ?? '', 1);
});
afterAll(() => jaeger?.stop());

/** Jaeger says yes before a trace can be asked for. */
const arrived = (traceId: string, count: number): Promise<void> =>
  vi.waitFor(async () => expect(await sources.both.trace(traceId)).toHaveLength(count), { timeout: 20_000 });

const sorted = (list: readonly SourceSpan[]): SourceSpan[] =>
  list.toSorted((a, b) => `${a.traceId}${a.spanId}`.localeCompare(`${b.traceId}${b.spanId}`));
const toMicroseconds = (nano: string): string => `${nano.slice(0, -3)}000`;
/** As the old API has them: it knows microseconds. */
const coarse = (list: readonly SourceSpan[]): SourceSpan[] =>
  list.map((span) => ({
    ...span,
    startUnixNano: toMicroseconds(span.startUnixNano),
    endUnixNano: toMicroseconds(span.endUnixNano),
  }));

describe('a trace', () => {
  it('comes back from v3 as it was sent', async () => {
    expect(sources.both.kind).toBe('jaeger');
    expect(sorted(await sources.both.trace(TRACE_ID))).toEqual(sorted(spans));
    expect(sorted(await sources.v3.trace(TRACE_ID))).toEqual(sorted(spans));
  });

  it('comes back from the old API equal, but for nanoseconds', async () => {
    expect(sorted(await sources.legacy.trace(TRACE_ID))).toEqual(sorted(coarse(spans)));
  });

  it('that was never sent is empty by each', async () => {
    for (const source of Object.values(sources)) expect(await source.trace('f'.repeat(32))).toEqual([]);
  });
});

describe('a search', () => {
  const ours = sorted(spans.slice(0, 3));

  it('by session finds the spans of Orangebox in its trace, by each API', async () => {
    const query = { ...QUERY, attributes: { [ATTR.sessionId]: SESSION_ID } };
    expect(sorted((await sources.both.search(query)).spans)).toEqual(coarse(ours));
    expect(sorted((await sources.legacy.search(query)).spans)).toEqual(coarse(ours));
    const byV3 = await sources.v3.search({ ...query, serviceName: 'agent service' });
    expect(sorted(byV3.spans)).toEqual(ours);
    expect((await sources.both.search({ ...query, attributes: { [ATTR.sessionId]: 'no' } })).spans).toEqual([]);
  });

  it('finds all calls of a busy service, more than one answer holds, by each API', async () => {
    for (const source of [sources.both, sources.v3]) {
      const { spans: found, truncated } = await source.search({ ...QUERY, serviceName: 'busy service' });
      expect([new Set(found.map((span) => span.traceId)).size, truncated]).toEqual([CALLS, false]);
    }
    const few = await sources.both.search({ ...QUERY, serviceName: 'busy service', traceLimit: 10 });
    expect([few.spans.length, few.truncated]).toEqual([10, true]);
    const session = { ...QUERY, attributes: { [ATTR.sessionId]: 'busy-3' } };
    expect((await sources.both.search(session)).spans).toHaveLength(CALLS / 10);
  });
});

it('a pasted address of its page leads to the call', async () => {
  const store = createSourceStore(sources.both);
  const pasted = `${jaeger.url}/trace/${TRACE_ID.replace(/^0+/, '')}?uiFind=${CALL_ID}`;
  const { entries, kind } = await resolveReference(pasted, { store });
  const [entry] = entries as [StoredEntry];
  expect([kind, entries.length, entry.key, entry.status]).toEqual(['span', 1, KEY, 'promised']);
  expect(entry).toMatchObject({ summary: { model: 'gpt-4o-mini', attempts: 2, inputTokens: 12 } });
  const listed: (string | undefined)[] = [];
  for await (const { key } of store.list({ sessionId: SESSION_ID })) listed.push(key);
  expect(listed).toEqual([KEY]);
});
