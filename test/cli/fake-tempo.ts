/**
 * A trace backend on loopback that answers about recorded calls as Tempo 3.1 documents it. Made by hand, since no Tempo runs
 * here: base64 ids, enums by name, search ids without their leading zeros, 200 and an empty trace for an unknown id.
 */
import type { Snapshot } from '@orangebox/schema';
import { type FakeBackend, otlpSpan, RESOURCE, startBackend } from './fake-jaeger.ts';

/** Starts a Tempo that knows these calls. */
export function fakeTempo(calls: Snapshot[]): Promise<FakeBackend> {
  return startBackend(calls, (url) => answerTo(url, calls));
}

function answerTo(url: URL, calls: readonly Snapshot[]): object | string | undefined {
  const traceId = /^\/api\/v2\/traces\/([0-9a-f]{32})$/.exec(url.pathname)?.[1];
  if (traceId !== undefined) {
    const spans = calls.filter((call) => call.trace.traceId === traceId).map(tempoSpan);
    const resourceSpans =
      spans.length === 0 ? [] : [{ resource: RESOURCE, scopeSpans: [{ scope: { name: 'orangebox' }, spans }] }];
    return { trace: spans.length === 0 ? {} : { resourceSpans }, metrics: {} };
  }
  if (url.pathname === '/api/echo') return 'echo';
  if (url.pathname !== '/api/search') return undefined;
  const [start, end] = ['start', 'end'].map((name) => Number(url.searchParams.get(name)));
  // Of TraceQL only what an equal session id looks like.
  const session = /orangebox\.session\.id"?\s*=\s*"([^"]*)"/.exec(url.searchParams.get('q') ?? '')?.[1];
  const found = calls.filter((call) => {
    const seconds = Number(call.time.startUnixNano) / 1e9;
    return seconds >= (start ?? 0) && seconds <= (end ?? 0) && (session === undefined || call.session?.id === session);
  });
  const ids = new Set(found.map((call) => call.trace.traceId));
  return {
    traces: [...ids].map((id) => ({ traceID: id.replace(/^0+/, ''), rootServiceName: 'weather-agent' })),
    metrics: {},
  };
}

const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');

function tempoSpan(call: Snapshot): object {
  const { traceId, spanId, parentSpanId, ...span } = otlpSpan(call);
  return {
    ...span,
    traceId: base64(traceId),
    spanId: base64(spanId),
    ...(parentSpanId === undefined ? {} : { parentSpanId: base64(parentSpanId) }),
    kind: 'SPAN_KIND_CLIENT',
    status: {},
  };
}
