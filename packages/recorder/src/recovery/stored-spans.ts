/** Spans as they stand in records, made into spans that the exporter takes. Nothing in a recording is trusted. */
import type { Json, JsonObject, TraceRef } from '@orangebox/schema';
import type { FinishedSpan } from '../otel/finished-span.ts';
import type { AttributeValue, SpanAttributes } from '../spans.ts';

const TRACE_ID = /^(?!0+$)[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0+$)[0-9a-f]{16}$/;
/** `SpanKind` of OTLP. */
const CLIENT = 3;
const MAX_SPANS = 1000;

/** The spans of a call or tool; those that are none are left out. */
export function finishedSpans(spans: readonly Json[]): FinishedSpan[] {
  // Children first, as spans end.
  return spans
    .slice(0, MAX_SPANS)
    .reverse()
    .flatMap((span) => finishedSpan(span) ?? []);
}

function finishedSpan(json: Json): FinishedSpan | undefined {
  const span = objectOf(json);
  const trace = span && traceOf(span);
  const [startUnixNano, endUnixNano] = [nano(span?.['startTimeUnixNano']), nano(span?.['endTimeUnixNano'])];
  if (!span || !trace || startUnixNano === undefined || endUnixNano === undefined) return undefined;
  const status = objectOf(span['status']);
  const message = status?.['message'];
  return {
    trace,
    name: typeof span['name'] === 'string' ? span['name'] : 'unknown',
    kind: span['kind'] === CLIENT ? 'client' : 'internal',
    startUnixNano,
    endUnixNano,
    attributes: attributesOf(span['attributes']),
    status:
      status?.['code'] === 2
        ? { code: 'error', ...(typeof message === 'string' ? { message } : {}) }
        : { code: 'unset' },
  };
}

function traceOf({ traceId, spanId, parentSpanId }: JsonObject): TraceRef | undefined {
  if (typeof traceId !== 'string' || !TRACE_ID.test(traceId)) return undefined;
  if (typeof spanId !== 'string' || !SPAN_ID.test(spanId)) return undefined;
  const parent = typeof parentSpanId === 'string' && SPAN_ID.test(parentSpanId) ? { parentSpanId } : {};
  return { traceId, spanId, ...parent, sampled: true };
}

function attributesOf(list: Json | undefined): SpanAttributes {
  const attributes: SpanAttributes = {};
  for (const item of Array.isArray(list) ? list : []) {
    const entry = objectOf(item);
    const value = entry && valueOf(objectOf(entry['value']) ?? {});
    if (typeof entry?.['key'] === 'string' && value !== undefined) attributes[entry['key']] = value;
  }
  return attributes;
}

function valueOf({
  stringValue,
  boolValue,
  intValue,
  doubleValue,
  arrayValue,
}: JsonObject): AttributeValue | undefined {
  if (typeof stringValue === 'string') return stringValue;
  if (typeof boolValue === 'boolean') return boolValue;
  if (typeof doubleValue === 'number') return doubleValue;
  if (typeof intValue === 'string' && /^-?\d{1,16}$/.test(intValue)) return Number(intValue);
  const values = objectOf(arrayValue)?.['values'];
  if (!Array.isArray(values)) return undefined;
  return values.flatMap((value) => {
    const text = objectOf(value)?.['stringValue'];
    return typeof text === 'string' ? [text] : [];
  });
}

function nano(value: Json | undefined): bigint | undefined {
  return typeof value === 'string' && /^\d{1,19}$/.test(value) ? BigInt(value) : undefined;
}

function objectOf(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}
