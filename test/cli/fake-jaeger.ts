/** A trace backend on loopback that knows the spans of recorded calls, as Jaeger answers about them (both of its APIs). */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withViews } from '@orangebox/codec';
import { type Snapshot, snapshotKey } from '@orangebox/schema';
import { decodeContent } from '@orangebox/store';

/** A running backend. */
export interface FakeBackend {
  url: string;
  /** Paths that were asked for. */
  asked: string[];
  headers: IncomingHttpHeaders[];
  /** Calls that it knows; may be added to while it runs. */
  calls: Snapshot[];
  stop(): Promise<void>;
}

type Tag = { key: string; value: string | number };

/** Starts a backend that knows these calls. */
export function fakeJaeger(calls: Snapshot[]): Promise<FakeBackend> {
  return startBackend(calls, (url) => answerTo(url, calls));
}

/** Starts a server with a backend's answers; what it has none for is 404, as both backends say it. */
export async function startBackend(
  calls: Snapshot[],
  answerTo: (url: URL) => object | string | undefined,
): Promise<FakeBackend> {
  const asked: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    asked.push(url.pathname);
    headers.push(request.headers);
    const answer = answerTo(url);
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    const shown = answer ?? { error: { httpCode: 404, message: 'trace not found' } };
    response.end(typeof shown === 'string' ? shown : JSON.stringify(shown));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    headers,
    calls,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerTo(url: URL, calls: readonly Snapshot[]): object | undefined {
  if (url.pathname === '/api/v3/services') return { services: ['weather-agent'] };
  const traceId = /^\/api\/v3\/traces\/([0-9a-f]{32})$/.exec(url.pathname)?.[1];
  if (traceId !== undefined) {
    const spans = calls.filter((call) => call.trace.traceId === traceId).map(otlpSpan);
    return spans.length === 0
      ? undefined
      : { result: { resourceSpans: [{ resource: RESOURCE, scopeSpans: [{ scope: { name: 'orangebox' }, spans }] }] } };
  }
  if (url.pathname !== '/api/traces') return undefined;
  const [start, end] = ['start', 'end'].map((name) => Number(url.searchParams.get(name)));
  const tags = Object.entries(JSON.parse(url.searchParams.get('tags') ?? '{}') as { [name: string]: string });
  const found = calls.filter((call) => {
    const micros = Number(call.time.startUnixNano) / 1e3;
    const own = new Map(tagsOf(call).map(({ key, value }) => [key, String(value)]));
    return micros >= (start ?? 0) && micros <= (end ?? 0) && tags.every(([key, value]) => own.get(key) === value);
  });
  return { data: found.map(legacyTrace) };
}

/** The resource of every span. */
export const RESOURCE: object = { attributes: [{ key: 'service.name', value: { stringValue: 'weather-agent' } }] };

function tagsOf(call: Snapshot): Tag[] {
  const { session } = call;
  const view = withViews(call, decodeContent);
  const model = view.call?.requestModel;
  const tags: { [key: string]: string | number | undefined } = {
    'gen_ai.operation.name': call.kind === 'tool' ? 'execute_tool' : 'chat',
    'gen_ai.request.model': model,
    'http.response.status_code': call.exchanges.at(-1)?.response?.status,
    'orangebox.snapshot.key': snapshotKey(call),
    'orangebox.snapshot.digest': call.digest,
    'orangebox.snapshot.size': 1000,
    'orangebox.snapshot.fidelity': call.fidelity.level,
    'orangebox.session.id': session?.id,
    'orangebox.session.seq': session?.seq,
    'orangebox.session.basis': session?.basis,
  };
  return Object.entries(tags).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }]));
}

/** A call's span as OTLP/JSON, ids in hexadecimal digits. */
export function otlpSpan(call: Snapshot): {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  [member: string]: unknown;
} {
  const { traceId, spanId, parentSpanId } = call.trace;
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name: 'chat',
    kind: 3,
    startTimeUnixNano: call.time.startUnixNano,
    endTimeUnixNano: call.time.endUnixNano,
    attributes: tagsOf(call).map(({ key, value }) => ({
      key,
      value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
    })),
    status: {},
  };
}

function legacyTrace(call: Snapshot): object {
  const { traceId, spanId } = call.trace;
  const startTime = Number(BigInt(call.time.startUnixNano) / 1000n);
  return {
    traceID: traceId,
    spans: [
      {
        traceID: traceId,
        spanID: spanId,
        operationName: 'chat',
        references: [],
        startTime,
        duration: Number(BigInt(call.time.endUnixNano) / 1000n) - startTime,
        tags: tagsOf(call).map(({ key, value }) => ({
          key,
          type: typeof value === 'number' ? 'int64' : 'string',
          value,
        })),
        logs: [],
        processID: 'p1',
      },
    ],
    processes: { p1: { serviceName: 'weather-agent', tags: [] } },
  };
}
