import { afterEach, describe, expect, it, vi } from 'vitest';
import { ATTR } from '@orangebox/schema';
import type { ListFilter, StoredEntry } from '../store.ts';
import { SPANS } from '../testing/trace-answers.ts';
import { createSourceStore } from './source-store.ts';
import type { SourceSpan, SpanQuery, TraceSource } from './trace-source.ts';

const [call] = SPANS as [SourceSpan];
const UNTIL = Date.UTC(2026, 10, 29, 12);
const HOUR = 3_600_000;
const SINCE = UNTIL - HOUR;

/** Call `n` of a trace, so many seconds before the end. */
function span(n: number, secondsAgo: number, more: { trace?: number; model?: string } = {}): SourceSpan {
  return {
    ...call,
    traceId: (more.trace ?? n + 1).toString(16).padStart(32, '0'),
    spanId: (n + 1).toString(16).padStart(16, '0'),
    startUnixNano: `${UNTIL - secondsAgo * 1000}000000`,
    attributes: { [ATTR.snapshotFidelity]: 'exact', 'gen_ai.request.model': more.model ?? 'm' },
  };
}

/** A backend that gives whole traces in which a span began in the time asked for. `hidden`: found by no search yet. */
function backend(
  spans: readonly SourceSpan[],
  hidden: readonly SourceSpan[] = [],
): TraceSource & { queries: SpanQuery[] } {
  const queries: SpanQuery[] = [];
  return {
    kind: 'jaeger',
    location: 'http://jaeger',
    queries,
    trace: async (traceId) => spans.filter((one) => one.traceId === traceId),
    async search(query) {
      queries.push(query);
      const within = spans.filter((one) => {
        const start = Number(one.startUnixNano) / 1e6;
        return !hidden.includes(one) && start >= query.sinceUnixMs && start < (query.untilUnixMs ?? 0);
      });
      const traces = new Set(within.map((one) => one.traceId));
      return { spans: spans.filter((one) => traces.has(one.traceId)), truncated: false };
    },
  };
}

async function listed(source: TraceSource, filter: ListFilter): Promise<number[]> {
  const entries: StoredEntry[] = [];
  for await (const entry of createSourceStore(source).list({ sinceUnixMs: SINCE, untilUnixMs: UNTIL, ...filter }))
    entries.push(entry);
  return entries.map((entry) => Number.parseInt(entry.trace.spanId, 16) - 1);
}

const each10s = Array.from({ length: 360 }, (_, n) => span(n, n * 10 + 5));

afterEach(() => vi.restoreAllMocks());

describe('the newest few of a time', () => {
  it('are asked for in its newest part, not in all of it', async () => {
    const source = backend(each10s);
    expect(await listed(source, { limit: 4 })).toEqual([0, 1, 2, 3]);
    expect(source.queries).toEqual([{ sinceUnixMs: UNTIL - 60_000, untilUnixMs: UNTIL }]);
  });

  it('that hold what the backend cannot be asked for are sought until there are enough', async () => {
    const source = backend([...each10s, span(1000, 1800, { model: 'rare' }), span(1001, 3500, { model: 'rare' })]);
    expect(await listed(source, { model: 'rare', limit: 1 })).toEqual([1000]);
    source.queries.length = 0;
    expect(await listed(source, { model: 'rare', limit: 5 })).toEqual([1000, 1001]);
    const bounds = source.queries.map(({ sinceUnixMs, untilUnixMs }) => [sinceUnixMs, untilUnixMs]);
    expect(bounds.length).toBeLessThan(5);
    expect(bounds[0]?.[1]).toBe(UNTIL);
    expect(bounds.at(-1)?.[0]).toBe(SINCE);
    for (const [i, [since]] of bounds.slice(0, -1).entries()) expect(bounds[i + 1]?.[1]).toBe(since);
  });

  it('come newest first also where a trace is older than its newest call', async () => {
    const spans = [span(0, 5, { trace: 77 }), span(1, 3000, { trace: 77 }), span(2, 1000), span(3, 2000)];
    expect(await listed(backend(spans), { limit: 3 })).toEqual([0, 2, 3]);
    expect(await listed(backend(spans), { limit: 9 })).toEqual([0, 2, 3, 1]);
  });

  it('are not without one that no search finds yet, but for which its trace is known', async () => {
    const late = span(0, 5, { trace: 77 });
    const spans = [late, span(1, 3000, { trace: 77 }), span(2, 10)];
    expect((await listed(backend(spans, [late]), { limit: 9 })).sort()).toEqual([0, 1, 2]);
  });

  it('are all where there are no more, and none are asked for where none are wanted', async () => {
    const source = backend(each10s);
    expect(await listed(source, { limit: 1000 })).toEqual(await listed(backend(each10s), {}));
    source.queries.length = 0;
    expect(await listed(source, { limit: 0 })).toEqual([]);
    expect(source.queries).toEqual([]);
  });

  it('are those that were found within the time of a search, which is said', async () => {
    const source = backend(each10s);
    let nowMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 40_000));
    const store = createSourceStore(source);
    const entries: StoredEntry[] = [];
    for await (const entry of store.list({ sinceUnixMs: SINCE, untilUnixMs: UNTIL, limit: 1000 })) entries.push(entry);
    expect(entries.length).toBeLessThan(100);
    expect(await store.problems()).toMatchObject([{ code: 'OBX_SOURCE_TRUNCATED' }]);
  });

  it('are named by twelve digits: other calls of the time may share six', async () => {
    const store = createSourceStore(backend(each10s));
    for await (const entry of store.list({ sinceUnixMs: SINCE, untilUnixMs: UNTIL, limit: 2 }))
      expect(entry.ref).toBe(entry.trace.spanId.slice(0, 12));
  });
});

it('all of a time, and its oldest, are asked for at once', async () => {
  const source = backend(each10s);
  expect(await listed(source, { order: 'oldest', limit: 1 })).toEqual([359]);
  expect(await listed(source, {})).toHaveLength(360);
  expect(source.queries).toEqual(Array.from({ length: 2 }, () => ({ sinceUnixMs: SINCE, untilUnixMs: UNTIL })));
});
