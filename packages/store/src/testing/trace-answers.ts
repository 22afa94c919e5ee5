/**
 * Answers of Jaeger's and Tempo's query APIs about one call with two attempts, made by hand: Jaeger's after those of
 * v1.76, Tempo's after its documented ones (3.1: base64 ids, enums by name, integers as text). Not part of the package's
 * surface.
 */
import { ATTR } from '@orangebox/schema';
import type { SourceSpan, SpanAttribute } from '../sources/trace-source.ts';

export const TRACE_ID: string = '00000000000000000a1b2c3d4e5f6071';
export const CALL_ID: string = '0011223344556677';
export const SESSION_ID: string = 'chat "7"\\';
export const START_MS: number = Date.UTC(2026, 10, 30, 12);
export const KEY: string = `v1/20261130/${TRACE_ID}/${CALL_ID}/${'d'.repeat(16)}`;

const START = `${START_MS}000000`;
const END = `${START_MS + 1500}000000`;
const ATTEMPT_IDS = ['00000000000000a1', 'ffeeddccbbaa9988'] as const;

const CALL_ATTRIBUTES: Readonly<Record<string, SpanAttribute>> = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o-mini',
  'gen_ai.request.stream': true,
  'gen_ai.request.temperature': 0.5,
  'gen_ai.response.finish_reasons': ['stop'],
  'gen_ai.response.time_to_first_chunk': 0.25,
  'gen_ai.usage.input_tokens': 12,
  'gen_ai.usage.output_tokens': 34,
  'gen_ai.agent.name': 'planner',
  'http.request.method': 'POST',
  'http.response.status_code': 200,
  [ATTR.snapshotKey]: KEY,
  [ATTR.snapshotDigest]: 'd'.repeat(64),
  [ATTR.snapshotSize]: 4096,
  [ATTR.snapshotFidelity]: 'exact',
  [ATTR.sessionId]: SESSION_ID,
  [ATTR.sessionSeq]: 3,
  [ATTR.sessionBasis]: 'declared',
};

const RESOURCE: Readonly<Record<string, SpanAttribute>> = {
  'service.name': 'agent service',
  'process.pid': 42,
  'host.name': 'box',
};

/** The spans that every answer below holds. */
export const SPANS: readonly SourceSpan[] = [
  {
    traceId: TRACE_ID,
    spanId: CALL_ID,
    parentSpanId: 'aaaaaaaaaaaaaaaa',
    name: 'chat gpt-4o-mini',
    kind: 'client',
    scope: 'orangebox',
    startUnixNano: START,
    endUnixNano: END,
    status: 'unset',
    attributes: CALL_ATTRIBUTES,
    resource: RESOURCE,
    events: [{ name: 'note', attributes: { 'note.text': 'hello' } }],
  },
  ...ATTEMPT_IDS.map(
    (spanId, i): SourceSpan => ({
      traceId: TRACE_ID,
      spanId,
      parentSpanId: CALL_ID,
      name: 'POST',
      kind: 'client',
      scope: 'orangebox',
      startUnixNano: START,
      endUnixNano: END,
      status: i === 0 ? 'error' : 'ok',
      ...(i === 0 ? { statusMessage: 'slow down' } : {}),
      attributes: {
        'http.request.method': 'POST',
        'http.response.status_code': i === 0 ? 429 : 200,
        ...(i > 0 ? { 'http.request.resend_count': i } : { 'error.type': '429' }),
      },
      resource: RESOURCE,
      events: [],
    }),
  ),
  {
    traceId: TRACE_ID,
    spanId: 'aaaaaaaaaaaaaaaa',
    name: 'GET /chat',
    kind: 'server',
    scope: 'http',
    startUnixNano: START,
    endUnixNano: END,
    status: 'unset',
    attributes: { 'http.route': '/chat' },
    resource: RESOURCE,
    events: [],
  },
];

const KINDS = ['', 'internal', 'server', 'client', 'producer', 'consumer'];
const STATUSES = ['unset', 'ok', 'error'];

/** `resourceSpans` as Jaeger's API v3 writes them. */
export function jaegerResourceSpans(spans: readonly SourceSpan[] = SPANS): unknown[] {
  return spans.map((span) => ({
    resource: { attributes: pairs(span.resource) },
    scopeSpans: [
      {
        scope: { name: span.scope, version: '1' },
        spans: [
          {
            ...ids(span, (id) => id),
            name: span.name,
            kind: KINDS.indexOf(span.kind ?? ''),
            ...times(span),
            attributes: pairs(span.attributes),
            events: span.events.map((event) => ({ name: event.name, attributes: pairs(event.attributes) })),
            status: span.status === 'unset' ? {} : { code: STATUSES.indexOf(span.status), ...message(span) },
          },
        ],
      },
    ],
  }));
}

/** `resourceSpans` (v2) or `batches` (v1) as Tempo writes them. */
export function tempoResourceSpans(spans: readonly SourceSpan[] = SPANS): unknown[] {
  return spans.map((span) => ({
    resource: { attributes: pairs(span.resource) },
    scopeSpans: [
      {
        scope: { name: span.scope },
        spans: [
          {
            ...ids(span, (id) => Buffer.from(id, 'hex').toString('base64')),
            name: span.name,
            kind: `SPAN_KIND_${span.kind?.toUpperCase()}`,
            ...times(span),
            attributes: pairs(span.attributes),
            events: span.events.map((event) => ({ name: event.name, attributes: pairs(event.attributes) })),
            status:
              span.status === 'unset' ? {} : { code: `STATUS_CODE_${span.status.toUpperCase()}`, ...message(span) },
          },
        ],
      },
    ],
  }));
}

/** The answer of Jaeger's own API. */
export function jaegerTraces(spans: readonly SourceSpan[] = SPANS): unknown {
  return {
    data: [...new Set(spans.map((span) => span.traceId))].map((traceId) => ({
      traceID: stripped(traceId, 16),
      spans: spans.filter((span) => span.traceId === traceId).map(jaegerSpan),
      processes: {
        p1: {
          serviceName: RESOURCE['service.name'],
          tags: Object.entries(RESOURCE).flatMap(([key, value]) => (key === 'service.name' ? [] : tag(key, value))),
        },
      },
      warnings: null,
    })),
    total: 0,
    limit: 0,
    offset: 0,
    errors: null,
  };
}

function jaegerSpan(span: SourceSpan): unknown {
  const traceID = stripped(span.traceId, 16);
  const status = span.status === 'unset' ? [] : [tag('otel.status_code', span.status.toUpperCase())];
  return {
    traceID,
    spanID: span.spanId,
    operationName: span.name,
    references: span.parentSpanId === undefined ? [] : [{ refType: 'CHILD_OF', traceID, spanID: span.parentSpanId }],
    startTime: Number(BigInt(span.startUnixNano) / 1000n),
    duration: Number((BigInt(span.endUnixNano) - BigInt(span.startUnixNano)) / 1000n),
    tags: [
      ...Object.entries(span.attributes).map(([key, value]) => tag(key, value)),
      ...status,
      ...(span.status === 'error' ? [tag('error', true)] : []),
      ...(span.statusMessage === undefined ? [] : [tag('otel.status_description', span.statusMessage)]),
      tag('otel.scope.name', span.scope ?? ''),
      tag('otel.scope.version', '1'),
      tag('span.kind', span.kind ?? ''),
    ],
    logs: span.events.map((event) => ({
      timestamp: START_MS * 1000,
      fields: [tag('event', event.name), ...Object.entries(event.attributes).map(([key, value]) => tag(key, value))],
    })),
    processID: 'p1',
    warnings: null,
  };
}

function tag(key: string, value: SpanAttribute): unknown {
  if (Array.isArray(value)) return { key, type: 'string', value: JSON.stringify(value) };
  if (typeof value === 'number') return { key, type: Number.isInteger(value) ? 'int64' : 'float64', value };
  return { key, type: typeof value === 'boolean' ? 'bool' : 'string', value };
}

function ids(span: SourceSpan, write: (id: string) => string): Record<string, string> {
  return {
    traceId: write(span.traceId),
    spanId: write(span.spanId),
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: write(span.parentSpanId) }),
  };
}

function times(span: SourceSpan): Record<string, string> {
  return { startTimeUnixNano: span.startUnixNano, endTimeUnixNano: span.endUnixNano };
}

function message(span: SourceSpan): Record<string, string> {
  return span.statusMessage === undefined ? {} : { message: span.statusMessage };
}

function pairs(attributes: Readonly<Record<string, SpanAttribute>>): unknown[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: SpanAttribute): unknown {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

function stripped(id: string, least: number): string {
  return id.replace(/^0+/, '').padStart(least, '0');
}
