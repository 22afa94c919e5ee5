/** Spans from OTLP/JSON as Jaeger's API v3 (hex ids, enums as numbers) and Tempo (base64 ids, enums by name) write it. */
import { arrayOf, field, firstField, objectOf, otlpAttributes, textOf, unixNanoOf } from './foreign-json.ts';
import { spanIdOf, traceIdOf } from './span-ids.ts';
import type { SourceSpan, SpanAttribute } from './trace-source.ts';

const KINDS: Readonly<Record<string, SourceSpan['kind']>> = {
  '1': 'internal',
  '2': 'server',
  '3': 'client',
  '4': 'producer',
  '5': 'consumer',
  SPAN_KIND_INTERNAL: 'internal',
  SPAN_KIND_SERVER: 'server',
  SPAN_KIND_CLIENT: 'client',
  SPAN_KIND_PRODUCER: 'producer',
  SPAN_KIND_CONSUMER: 'consumer',
};

/** The spans of a list of `ResourceSpans`. What is no span (no valid ids) is passed over. */
export function spansOfResourceSpans(list: unknown): SourceSpan[] {
  const spans: SourceSpan[] = [];
  for (const item of arrayOf(list)) {
    const resourceSpans = objectOf(item);
    const resource = otlpAttributes(field(objectOf(field(resourceSpans, 'resource')), 'attributes'));
    const scopes = firstField(resourceSpans, 'scopeSpans', 'scope_spans', 'instrumentationLibrarySpans');
    for (const scopeItem of arrayOf(scopes)) {
      const scopeSpans = objectOf(scopeItem);
      const scope = textOf(field(objectOf(firstField(scopeSpans, 'scope', 'instrumentationLibrary')), 'name'));
      for (const span of arrayOf(field(scopeSpans, 'spans'))) {
        const parsed = otlpSpan(span, resource, scope);
        if (parsed) spans.push(parsed);
      }
    }
  }
  return spans;
}

/** One OTLP/JSON `Span`; undefined when it has no valid ids. */
export function otlpSpan(
  value: unknown,
  resource: Readonly<Record<string, SpanAttribute>>,
  scope?: string,
): SourceSpan | undefined {
  const span = objectOf(value);
  const traceId = traceIdOf(firstField(span, 'traceId', 'trace_id'));
  const spanId = spanIdOf(firstField(span, 'spanId', 'span_id'));
  if (traceId === undefined || spanId === undefined) return undefined;
  const parentSpanId = spanIdOf(firstField(span, 'parentSpanId', 'parent_span_id'));
  const kind = kindOf(field(span, 'kind'));
  const status = objectOf(field(span, 'status'));
  const statusMessage = textOf(field(status, 'message'));
  const events = arrayOf(field(span, 'events')).map((item) => {
    const event = objectOf(item);
    return { name: textOf(field(event, 'name')) ?? '', attributes: otlpAttributes(field(event, 'attributes')) };
  });
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name: textOf(field(span, 'name')) ?? '',
    ...(kind === undefined ? {} : { kind }),
    ...(scope === undefined ? {} : { scope }),
    startUnixNano: unixNanoOf(firstField(span, 'startTimeUnixNano', 'start_time_unix_nano')),
    endUnixNano: unixNanoOf(firstField(span, 'endTimeUnixNano', 'end_time_unix_nano')),
    status: statusOf(field(status, 'code')),
    ...(statusMessage === undefined ? {} : { statusMessage }),
    attributes: otlpAttributes(field(span, 'attributes')),
    resource,
    events,
  };
}

function kindOf(value: unknown): SourceSpan['kind'] {
  const name = typeof value === 'number' ? String(value) : value;
  return typeof name === 'string' && Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
}

function statusOf(code: unknown): SourceSpan['status'] {
  if (code === 2 || code === 'STATUS_CODE_ERROR') return 'error';
  return code === 1 || code === 'STATUS_CODE_OK' ? 'ok' : 'unset';
}
